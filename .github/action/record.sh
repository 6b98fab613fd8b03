# Records COMMAND with OPTIONS into .funcgraph/NAME.fg. The step fails as the command does.
set -u
mkdir -p .funcgraph/base
trace=".funcgraph/$NAME.fg"
# Words of OPTIONS and COMMAND are split and quoted as in a shell: they are written by who writes the workflow.
status=0
eval "funcgraph record -o \"\$trace\" $OPTIONS $COMMAND" || status=$?
if [ -s "$trace" ]; then
    echo "trace=$trace" >>"$GITHUB_OUTPUT"
    # What a push to this branch leaves for the changes to come; in a change's own run nothing keeps it.
    [ "${GITHUB_EVENT_NAME:-}" = pull_request ] || cp "$trace" ".funcgraph/base/$NAME.fg"
fi
exit "$status"
