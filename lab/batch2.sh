#!/bin/bash
limit=$1; dice=$2; shift 2
one() { .venv/bin/python lab/run2.py $2 $1 "$3" 2>&1 | tail -3 | sed "s/^/$3 | /"; }
export -f one
printf "%s\n" "$@" | xargs -P 2 -I{} bash -c "one $limit $dice '{}'"
