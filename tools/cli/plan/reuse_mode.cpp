// kvsim plan SCENARIO where prompts are made of chunks: load, blend or recompute.
#include <algorithm>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "models/schema/units.h"
#include "planner/reuse/reuse_plan.h"
#include "tools/cli/plan/modes.h"
#include "tools/results/reuse_plan.h"

namespace kvsim::cli {
namespace {

using schema::InputError;

/// "8k" or "8k tokens"
std::int64_t tokens_of(const std::string& text) {
  try {
    const bool with_unit = text.find("token") != std::string::npos;
    const std::int64_t tokens = schema::parse_tokens(with_unit ? text : text + " tokens");
    if (tokens >= 1) return tokens;
  } catch (const schema::UnitError&) {  // said below
  }
  throw InputError(
      fmt::format("--context {}: expected tokens of a prompt's chunks, one number or several: 8k or 1k,8k,32k", text));
}

std::vector<std::int64_t> contexts_of(const std::string& text) {
  std::vector<std::int64_t> contexts;
  if (text.empty()) return contexts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    contexts.push_back(tokens_of(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return contexts;
}

double hit_rate_of(const std::string& text) {
  try {
    const double share = schema::parse_number(text);
    if (share >= 0 && share <= 1) return share;
  } catch (const schema::UnitError&) {  // said below
  }
  throw InputError(
      fmt::format("--hit-rate {}: expected the share of the chunks' tokens that is stored, from 0 to 1", text));
}

planner::ReusePlanRequest reuse_request_of(const PlanOptions& options) {
  planner::ReusePlanRequest request;
  request.contexts = contexts_of(options.context);
  if (!options.hit_rate.empty()) request.hit_rate = hit_rate_of(options.hit_rate);
  if (!options.link.empty()) request.link = options.link;
  if (!options.tier.empty()) request.tier = options.tier;
  return request;
}

}  // namespace

void plan_reuse(Console& console, const PlanOptions& options, const scenario::Scenario& scenario) {
  refuse_verification_options(options, "this scenario's prompts are made of chunks under decode policy full_kv");
  const results::ReusePlanOutcome outcome{scenario, planner::plan_reuse(scenario, reuse_request_of(options))};
  std::vector<PlanFile> files;
  if (!options.out.empty()) {
    files.emplace_back("break_even.csv", results::break_even_csv(outcome.plan));
    files.emplace_back("break_even.svg", results::break_even_svg(outcome));
  }
  deliver_plan(console, options, results::reuse_plan_document(outcome), {results::reuse_plan_page(outcome)}, files);
}

}  // namespace kvsim::cli
