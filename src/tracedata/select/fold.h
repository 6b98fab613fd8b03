/* Folds imports: a stage between a trace's lanes and what reads them, which makes one call of each import.
 *
 *     _frozen_importlib._find_and_load() {           import json {
 *       ...                                          } with the number of calls in between
 *       json.<module>() {
 *         ...
 *     }
 *
 * What the program's own functions do in an import is shown all the same, with all that they call, one level
 * below the import. So are events that are not calls. docs/reference/trace-text.md ("Imports") has the rules.
 *
 * The stage reads on in the lane until it has the import's name, and its end or what is shown in it first. It
 * keeps counts, never events. */
#ifndef FG_FOLD_H
#define FG_FOLD_H

#include "tracedata/read/merge.h"
#include "tracedata/select/fold_lane.h"

struct fg_fold;

/**
 * fg_fold_new() - Make the stage of one merge.
 * @rules: copied; its functions and its names, to which imports are added, stay the caller's
 * @file: stays the caller's
 *
 * Return: 0, and *@fold is to be freed after that merge was closed; or -ENOMEM.
 */
int fg_fold_new(const struct fg_fold_rules *rules, const struct fg_trace_file *file, struct fg_fold **fold);
void fg_fold_free(struct fg_fold *fold);

struct fg_merge_stage *fg_fold_stage(struct fg_fold *fold);

#endif
