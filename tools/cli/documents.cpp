#include "tools/cli/documents.h"

#include "tools/results/comparison.h"
#include "tools/results/metrics.h"
#include "tools/results/plan.h"
#include "tools/results/sweep.h"

namespace kvsim::cli {

const std::vector<results::DocumentKind>& document_kinds() {
  static const std::vector<results::DocumentKind> kinds{
      {"run", "kvsim run", results::run_keys},
      {"comparison", "kvsim compare", results::comparison_keys},
      {"sweep", "kvsim sweep", results::sweep_keys},
      {"plan", "kvsim plan SCENARIO", results::plan_keys},
      {"symbols", "kvsim plan --symbols", results::symbols_plan_keys},
  };
  return kinds;
}

}  // namespace kvsim::cli
