#!/bin/bash
# usage: batch.sh limit dice  config...   (two at a time)
limit=$1; dice=$2; shift 2
one() { .venv/bin/python lab/run.py $2 both $1 "$3" 2>&1 | tail -3 | sed "s/^/$3 | /"; }
export -f one
printf "%s\n" "$@" | xargs -P 2 -I{} bash -c "one $limit $dice '{}'"
