// Alternatives tried for a plan, and what it would cost to take them.

#include <fmt/format.h>

#include "tools/report/parts.h"
#include "tools/report/report.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

void add_candidates(Section& s, const Json& plan) {
  const Json& simulated = at(plan, {"simulated"});
  const Json& candidates = at(simulated, {"candidates"});
  if (!candidates.is_array() || candidates.empty()) return;
  Table t =
      table(fmt::format("Candidates that were simulated, best first ({} simulation{})",
                        plain(number_or_nan(simulated, {"simulations"})),
                        number(simulated, {"simulations"}) == 1.0 ? "" : "s"),
            {{"plan"}, {"why tried"}, {"predicted tokens/s", true}, {"simulated tokens/s", true}, {"seeds", true}});
  for (const Json& c : candidates) {
    t.rows.push_back(
        {plan_text(at(c, {"plan"})), text(c, {"origin"}),
         cell(number_or_nan(c, {"predicted_tokens_per_s"}), results::figure),
         cell(number_or_nan(c, {"simulated_tokens_per_s"}), number_or_nan(c, {"half_width_95"}), results::figure),
         cell(number_or_nan(c, {"replications"}), plain)});
    if (truth(c, {"stopped_early"})) t.rows.back().back().text += ", stopped";
    if (t.rows.size() == 1) {
      for (Cell& one : t.rows.front()) one.strong = true;
    }
  }
  s.add(std::move(t));
  if (const std::string remark = text(simulated, {"remark"}); !remark.empty()) {
    s.add(Prose{"Tokens/s are " + remark + "."});
  }
}

void add_neighbours(Section& s, const Json& plan) {
  const Json& list = at(plan, {"explanation", "runner_up"});
  if (!list.is_array() || list.empty()) return;
  Table t =
      table("Beside the optimum, by the closed forms", {{"instead"}, {"tokens/s", true}, {"loss", true}, {"plan"}});
  for (const Json& a : list) {
    const bool fits = truth(a, {"fits"});
    t.rows.push_back({text(a, {"what"}), cell(number_or_nan(a, {"plan", "throughput_tokens_per_s"}), results::figure),
                      cell(number_or_nan(a, {"loss"}), results::percent),
                      fits ? plan_text(at(a, {"plan"})) : "does not fit"});
  }
  s.add(std::move(t));
}

void add_models(Section& s, const Json& plan) {
  const Json& models = at(plan, {"details", "by_model"});
  if (!models.is_object() || models.empty()) return;
  const std::string used = text(plan, {"model"});
  Table t = table("Three models of the transfer, and what each would plan",
                  {{"model"}, {"plan"}, {"tokens/s", true}, {"time of the GPU", true}, {"time of the transfer", true}});
  for (const auto& [name, point] : models.items()) {
    t.rows.push_back({name + (name == used ? " (used)" : ""), plan_text(point),
                      cell(number_or_nan(point, {"throughput_tokens_per_s"}), results::figure),
                      cell(number_or_nan(point, {"t_gpu_s"}), results::seconds),
                      cell(number_or_nan(point, {"t_xfer_s"}), results::seconds)});
  }
  s.add(std::move(t));
}

}  // namespace

Section alternatives(const Inputs& inputs) {
  Section s{"alternatives", "The plan and its alternatives", {}};
  for (const Json& plan : inputs.plans) {
    add_candidates(s, plan);
    add_neighbours(s, plan);
    add_models(s, plan);
  }
  return s;
}

}  // namespace kvsim::report
