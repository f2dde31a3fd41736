// Which policy.
#include <cmath>

#include <fmt/format.h>

#include "tools/report/answers.h"
#include "tools/report/choice.h"
#include "tools/report/objectives.h"
#include "tools/report/policy_words.h"
#include "tools/report/tables.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

/// What the policy does, for those who do not know its name.
std::string said_of(const Json& result) {
  const std::string said = policy_words(result);
  return said.empty() ? said : "\n" + said;
}

/// Who else prints the same figure, and whether the baseline is within chance.
std::string ties_of(const Inputs::Compared& compared, std::size_t chosen) {
  const Criterion by = criterion_of(compared);
  const Json& best = compared.results[chosen].result;
  std::string as_good;
  for (std::size_t i = 0; i < compared.results.size(); ++i) {
    const Json& other = compared.results[i].result;
    if (i == chosen || by.print(by.of(other)) != by.print(by.of(best))) continue;
    as_good += (as_good.empty() ? "" : ", ") + compared.results[i].policy;
  }
  std::string said = as_good.empty() ? "" : fmt::format("\nThe same figure: {}.", as_good);
  if (chosen == 0 || by.interval.empty()) return said;
  const Json& first = compared.results.front().result;
  const double apart = std::fabs(by.of(best) - by.of(first));
  if (apart < half_width(best, by.interval) + half_width(first, by.interval)) {
    said += fmt::format("\nIts interval and that of {} overlap: the difference may be chance.",
                        compared.results.front().policy);
  }
  return said;
}

/// How many requests met the objectives, where there are some, and whom they rule out.
std::string objectives_of_policies(const Inputs::Compared& compared, std::size_t chosen, const Bests& best) {
  const auto share = [&](std::size_t i) {
    return results::percent(number_or_nan(compared.results[i].result, {"slo", "attainment"}));
  };
  const std::string objectives = objectives_words(compared.results[chosen].result);
  if (objectives.empty()) return {};
  std::string said = fmt::format("\n{} of the requests under {} met the objectives ({}).", share(chosen),
                                 compared.results[chosen].policy, objectives);
  if (!meets_objectives(compared.results[chosen].result)) {
    said += fmt::format("\nNo policy meets them for {} of the requests.", results::percent(kMetByEnough));
  } else if (best.outside && *best.outside != chosen) {
    said += fmt::format("\nMore, but outside of the objectives: {} ({} of its requests met them).",
                        compared.results[*best.outside].policy, share(*best.outside));
  }
  return said;
}

}  // namespace

std::string output_words(const Json& result) {
  if (is_lossless(result)) return "its output is that of full-KV decoding";
  const auto score = number(result, {"quality", "mean_score"});
  return score ? fmt::format("task score {} of the full KV", results::figure(*score)) : "its output is lossy";
}

Fact policy_of(const Inputs::Compared& compared) {
  const Criterion by = criterion_of(compared);
  const Bests best = bests_of(compared);
  const std::size_t chosen = chosen_of(compared);
  const Simulated& run = compared.results[chosen];
  const auto figures = [&](std::size_t i) {
    const Json& result = compared.results[i].result;
    std::string said =
        fmt::format("{} {}", by.name, interval_text(by.of(result), half_width(result, by.interval), by.print));
    if (i != 0) {
      said += fmt::format(", {} of {}", results::factor(gain_of(compared, i)), text(compared.document, {"baseline"}));
    }
    return said + "; " + output_words(result) + ".";
  };
  std::string why = "Best of all";
  if (!by.knows_quality && best.nearly_lossless) {
    why = is_lossless(run.result) ? "Best with lossless output"
                                  : fmt::format("Best at a task score of {} or more", plain(kNearlyLossless));
  }
  Fact f{kWhichPolicy, run.policy, "", "headline"};
  f.detail = fmt::format("{}: {}", why, figures(chosen));
  if (!by.knows_quality) {
    const auto also = [&](const std::optional<std::size_t>& other, const std::string& what) {
      if (!other || *other == chosen) return false;
      f.detail += fmt::format("\n{}: {}: {}", what, compared.results[*other].policy, figures(*other));
      return true;
    };
    also(best.nearly_lossless, fmt::format("At a task score of {} or more", plain(kNearlyLossless)));
    if (best.all != best.nearly_lossless) also(best.all, "Whatever the quality");
  }
  f.detail += ties_of(compared, chosen);
  f.detail += objectives_of_policies(compared, chosen, best);
  if (number(run.result, {"details", "completed_measured"}).value_or(1) == 0) {
    f.detail += "\nNo request finished in the measured time: too short a run to decide by.";
  }
  const Json& policies = at(run.result, {"details", "policies"});
  const auto x = number(policies, {"draft_length"}), c = number(policies, {"keep_ratio"});
  if (x && c) f.detail += fmt::format("\nDrafts were made with x = {}, c = {}.", plain(*x), plain(*c));
  if (compared.results.size() > 1) f.detail += fmt::format("\n{} policies compared.", compared.results.size());
  f.detail += said_of(run.result);
  return f;
}

}  // namespace kvsim::report
