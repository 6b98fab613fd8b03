/* Users of the function graph by which static events wait for the import of a module (late_source.h). */
#ifndef FG_CPYTHON_REGISTER_LATE_SOURCES_H
#define FG_CPYTHON_REGISTER_LATE_SOURCES_H

/**
 * fg_late_sources_follow() - Register the users of the sources that wait, and unregister the others.
 *
 * Called when a source has started or stopped, and after a source has found its module.
 *
 * Return: 0, or an error of fg_cpython_register().
 * Context: outside of callbacks, with the interpreter's thread state.
 */
int fg_late_sources_follow(void);

#endif
