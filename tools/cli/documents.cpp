// What kvsim prints as JSON.
#include "tools/cli/named_things.h"

#include "tools/results/calibration.h"
#include "tools/results/capacity.h"
#include "tools/results/comparison.h"
#include "tools/results/metrics.h"
#include "tools/results/paths.h"
#include "tools/results/plan.h"
#include "tools/results/result_document.h"
#include "tools/results/sweep.h"
#include "tools/results/trace.h"
#include "tools/validation/figures_page.h"

namespace kvsim::cli {

const std::vector<results::DocumentKind>& document_kinds() {
  static const std::vector<results::DocumentKind> kinds{
      {"run", "kvsim run", results::run_keys},
      {"runs", "kvsim run of several scenarios", results::results_keys},
      {"comparison", "kvsim compare", results::comparison_keys},
      {"sweep", "kvsim sweep", results::sweep_keys},
      {"plan", "kvsim plan SCENARIO", results::plan_keys},
      {"plan_symbols", "kvsim plan --symbols", results::symbols_plan_keys},
      {"plan_draft_table", "kvsim plan --draft-table", results::draft_table_keys},
      {"plan_prefetch", "kvsim plan of a scenario that fetches KV", results::prefetch_keys},
      {"plan_reuse", "kvsim plan of a scenario with chunks", results::reuse_plan_keys},
      {"plan_pools", "kvsim plan of a scenario with two pools", results::pools_plan_keys},
      {"plan_paths", "kvsim plan --paths", results::paths_keys},
      {"capacity", "kvsim capacity", results::capacity_keys},
      {"trace", "kvsim workload info", results::trace_keys},
      {"calibration", "kvsim calibrate fit", results::calibration_keys},
      {"validation", "kvsim validate", validation::figures_keys},
  };
  return kinds;
}

}  // namespace kvsim::cli
