# Writes .funcgraph/NAME.md: the summary of TRACE, and what differs from the base branch's trace, if there is one. Fails if
# a condition of FAIL_IF (one a line) is true.
set -u
base=".funcgraph/base/$NAME.fg"
report=".funcgraph/$NAME.md"
conditions=()
while IFS= read -r line; do
    [ -n "${line// /}" ] && conditions+=(--fail-if "$line")
done <<<"$FAIL_IF"

# block TITLE COMMAND...: a part of the report that is open or closed by a click.
block() {
    printf '<details%s><summary>%s</summary>\n\n````text\n' "$open" "$1"
    "${@:2}"
    local status=$?
    printf '````\n\n</details>\n\n'
    return "$status"
}

status=0
{
    printf '### Calls of `%s`\n\n' "$NAME"
    open=" open"
    if [ -s "$base" ] && [ "${GITHUB_EVENT_NAME:-}" = pull_request ]; then
        block "Compared with ${GITHUB_BASE_REF:-the base branch}" \
            funcgraph diff "$base" "$TRACE" --top "$ROWS" "${conditions[@]}" 2>&1 || status=$?
        open=""
    else
        printf 'There is no trace of the base branch yet: a push to it leaves one.\n\n'
    fi
    block "Summary" funcgraph summary -i "$TRACE" -n "$ROWS" 2>&1 || status=$?
} >"$report"
echo "report=$report" >>"$GITHUB_OUTPUT"
cat "$report" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
exit "$status"
