#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "models/schema/yaml_reader.h"
#include "planner/paths/lp_text.h"
#include "tools/cli/plan/modes.h"
#include "tools/results/paths.h"

namespace kvsim::cli {
namespace {

std::string lp_of(const results::PathsResult& result) {
  const planner::PerPool& batch = result.plan.batch;
  const std::string remarks = fmt::format(
      "The path LP of {}: requests/s by path, seconds per request and row.\nCoefficients at batches of {} "
      "(local) and {} (remote) per GPU, residence {}.",
      result.file, batch.local, batch.remote, residence_name(result.problem.residence));
  return lp_text(result.plan.lp, static_cast<double>(result.problem.request.K), remarks);
}

/// Options of the other modes would have no effect.
void refuse_beside_paths(const PlanOptions& options) {
  const auto refuse = [](const char* name, bool given) {
    if (given) throw schema::InputError(fmt::format("{}: does not go with --paths, whose file says it all", name));
  };
  refuse("--model", !options.model.empty());
  refuse("--draft-length", !options.draft_length.empty());
  refuse("--keep-ratio", !options.keep_ratio.empty());
  refuse("--without", !options.without.empty());
  refuse("--simulate", options.simulate);
  refuse("--set", !options.set.empty());
  refuse("--seed", options.seed.has_value());
  refuse("--replications", options.replications.has_value());
  refuse("--timing", options.timing);
  refuse("--explain", options.explain);
  refuse("--export", !options.engines.empty());
}

}  // namespace

void plan_paths(Console& console, const PlanOptions& options) {
  refuse_beside_paths(options);
  const planner::PathProblem problem = planner::path_problem_schema().parse(schema::read_yaml_file(options.paths));
  std::optional<PendingFile> lp_file;
  if (!options.lp_out.empty()) lp_file.emplace(options.lp_out);
  const results::PathsResult result = results::plan_paths(options.paths, problem);
  if (lp_file) {
    lp_file->write(lp_of(result));
    lp_file->commit();
  }
  deliver_plan(console, options, results::paths_document(result), {results::paths_page(result)});
  if (!result.plan.converged) {
    throw std::runtime_error(
        fmt::format("warning: not converged: no batches were found that agree with the occupancy they lead to "
                    "(residual {:.2g}, expected at most {:.0e}); these figures are no plan",
                    result.plan.residual, planner::kPathResidual));
  }
}

}  // namespace kvsim::cli
