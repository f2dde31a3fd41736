# The table of docs/kernel_timing.md: errors of the fitted forms of profiles, as `kvsim show PROFILE` prints them.
# Each cell is the median / the 90th percentile of |predicted / measured - 1| in per cent, over all shapes left out;
# "in" where the rows were in the fit.
/^profiles:|^  [a-z0-9-]+:$/ { sub(/:/, "", $1); name = $1; sub(/-vllm/, "", name); if (name != "profiles" && !(name in seen)) { seen[name] = 1; machines[++m] = name } }
/^      [a-z_]+:$/ { sub(/:/, "", $1); operator = $1; gsub(/_/, " ", operator) }
/^        - (weights|kv|dtype):/ { format = $3 }
/^            median:/ { median = $2 * 100 }
/^            p90:/ { p90 = $2 * 100 }
/^            held_out:/ {
  row = operator " " format
  if (!(row in known)) { known[row] = 1; rows[++n] = row }
  cell[row, name] = sprintf("%.1f / %.0f%s", median, p90, $2 == "true" ? "" : " in")
}
END {
  printf "%-30s", "%"
  for (i = 1; i <= m; ++i) printf " %12s", machines[i]
  printf "\n"
  for (r = 1; r <= n; ++r) {
    printf "%-30s", rows[r]
    for (i = 1; i <= m; ++i) printf " %12s", (rows[r], machines[i]) in cell ? cell[rows[r], machines[i]] : "-"
    printf "\n"
  }
}
