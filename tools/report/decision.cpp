// The questions that a reader comes with, answered from whatever results there are, or how to get an answer.
#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "sim/serving/decode_policy.h"
#include "tools/report/answers.h"
#include "tools/report/best_policy.h"
#include "tools/report/parts.h"
#include "tools/report/report.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

/// Limits of the commands that a report proposes: what of the scenarios of its results they refuse.
struct Limits {
  bool pools = false;          ///< no fleet of replicas
  bool plans = true;           ///< the planner verifies drafts of such scenarios, and explains them
  bool users_wait = false;     ///< load is in users, not in requests/s
  bool others_arrive = false;  ///< it is not, in another of the scenarios

  /// Adds a run, or a point swept.
  void add_run(const Json& result) {
    if (has(result, {"details", "pools"}) || has(result, {"pools"})) pools = true;
    for (const char* key : {"placement", "answers", "fetch"}) plans = plans && !has(result, {key});
  }

  /// Adds any document that carries its scenario.
  void add_scenario(const Json& document) {
    if (has(resolved_section(document, "cluster"), {"cluster", "pools"})) pools = true;
    const Json decode = resolved_section(document, "decode"), workload = resolved_section(document, "workload");
    const serving::DecodePolicy* policy = serving::find_decode_policy(text(decode, {"decode", "policy"}));
    const bool drafts =
        decode.empty() || (has(decode, {"decode", "compressor"}) && (policy == nullptr || !policy->fetches()));
    const bool stored = has(resolved_section(document, "placement"), {"placement"});
    plans = plans && drafts && !stored && !has(workload, {"workload", "sessions"});
    (has(workload, {"workload", "closed"}) ? users_wait : others_arrive) = true;
  }
};

Limits limits_of(const Inputs& inputs) {
  Limits limits;
  for (const Inputs::Compared& c : inputs.compares) {
    for (const Simulated& run : c.results) limits.add_run(run.result);
    limits.add_scenario(c.results.front().result);
  }
  for (const Simulated& run : inputs.runs) {
    limits.add_run(run.result);
    limits.add_scenario(run.result);
  }
  for (const Json& sweep : inputs.sweeps) {
    for (const Json& point : at(sweep, {"points"})) limits.add_run(at(point, {"result"}));
  }
  for (const auto* list : {&inputs.plans, &inputs.capacities, &inputs.sweeps}) {
    for (const Json& document : *list) limits.add_scenario(document);
  }
  if (limits.pools) limits.plans = false;
  return limits;
}

/// Goes through the questions one by one. What no result answers is asked with the command that would answer it, where
/// there is one for such scenarios.
class Questions {
 public:
  explicit Questions(const Inputs& inputs)
      : inputs_(inputs),
        limits_(limits_of(inputs)),
        asked_(inputs.size() > inputs.others.size()),
        names_(scenarios_of(inputs)) {}

  void completeness() {
    if (inputs_.interrupted.empty()) return;
    std::string which;
    for (const std::string& what : inputs_.interrupted) which += (which.empty() ? "" : "\n") + what;
    facts_.push_back({"Are the results complete?", "no, the command was interrupted", which, ""});
  }

  void policy() {
    for (const Inputs::Compared& c : inputs_.compares) add(policy_of(c), c.document);
    if (!inputs_.compares.empty()) return;
    if (inputs_.runs.size() == 1) {
      add(only_run(inputs_.runs.front()), inputs_.runs.front().result);
      return;
    }
    const bool swept = add_each(inputs_.sweeps, swept_policy), searched = add_each(inputs_.capacities, searched_policy);
    if (!swept && !searched) open(kWhichPolicy, "kvsim compare SCENARIO sets policies side by side.");
  }

  void plan() {
    for (const Json& p : inputs_.plans) add(plan_of(p), p);
    if (!inputs_.plans.empty()) return;
    if (!add_each(inputs_.sweeps, swept_plan) && limits_.plans) {
      open(kWhichPlan, "kvsim plan SCENARIO --simulate finds them.");
    }
  }

  void gpus() {
    for (const Json& c : inputs_.capacities) {
      if (!at(c, {"configurations"}).empty()) add(gpus_of(c), c);
    }
    if (!inputs_.capacities.empty() || limits_.pools) return;
    if (limits_.users_wait && !limits_.others_arrive) {
      open(kHowManyGpus, "kvsim capacity SCENARIO --users N finds the cheapest fleet for so many users.");
    } else {
      open(kHowManyGpus, "kvsim capacity SCENARIO --rate R finds the cheapest fleet for a rate.");
    }
  }

  /// Binding resource, and what to buy: both from the explanation of a plan, else the first from where the time went.
  void binding() {
    bool explained = false;
    for (const Json& p : inputs_.plans) {
      const Json& e = at(p, {"explanation"});
      if (e.empty()) continue;
      add(binds(e), p);
      add(purchase(e), p);
      explained = true;
    }
    if (explained) return;
    for (const Inputs::Compared& c : inputs_.compares) add(bound_by(c.results[chosen_of(c)]), c.document);
    if (inputs_.compares.empty() && !inputs_.runs.empty()) {
      add(bound_by(inputs_.runs.front()), inputs_.runs.front().result);
    }
    if (inputs_.compares.empty() && inputs_.runs.empty()) bound_at_rates();
    if (limits_.plans) {
      open(kWhatToBuy, "kvsim plan SCENARIO --explain says what more of each resource would bring.");
    }
  }

  void sureness() {
    if (asked_) facts_.push_back(how_sure(inputs_));
  }

  [[nodiscard]] std::vector<Fact> take() { return std::move(facts_); }

 private:
  /// Adds an answer. Among several scenarios, it says whose it is.
  void add(Fact f, const Json& document) {
    if (names_.size() > 1) f.scenario = scenario_of(document);
    facts_.push_back(std::move(f));
  }

  /// Adds the answers of each of these documents; false where none has one.
  bool add_each(const std::vector<Json>& documents, std::optional<Fact> (*answer)(const Json& document)) {
    bool answered = false;
    for (const Json& document : documents) {
      std::optional<Fact> f = answer(document);
      if (!f) continue;
      add(std::move(*f), document);
      answered = true;
    }
    return answered;
  }

  void open(const char* question, const char* command) {
    if (asked_) facts_.push_back({question, "", command, ""});
  }

  void bound_at_rates() {
    for (const Json& c : inputs_.capacities) {
      if (at(c, {"configurations"}).empty()) continue;
      if (auto f = bound_at_rate(c)) add(std::move(*f), c);
    }
  }

  static Fact only_run(const Simulated& run) {
    const bool finished = number(run.result, {"requests", "completed"}).value_or(0) > 0;
    return {kWhichPolicy, run.policy + (finished ? ", the only one simulated" : ": no request finished"),
            fmt::format("{} tokens/s; {}. kvsim compare sets others beside it.",
                        interval_text(number_or_nan(run.result, {"throughput", "output_tokens_per_s"}),
                                      half_width(run.result, "throughput.output_tokens_per_s"), results::figure),
                        output_words(run.result)) +
                unsteady_words(run.result),
            "headline"};
  }

  const Inputs& inputs_;
  Limits limits_;
  bool asked_;  ///< there is more than documents of other kinds, which answer none of it
  std::set<std::string> names_;
  std::vector<Fact> facts_;
};

}  // namespace

Section decision(const Inputs& inputs) {
  Questions questions(inputs);
  questions.completeness();
  questions.policy();
  questions.plan();
  questions.gpus();
  questions.binding();
  questions.sureness();
  Section s{"decision", "The decision", {}};
  if (Facts facts{questions.take()}; !facts.facts.empty()) s.add(std::move(facts));
  return s;
}

}  // namespace kvsim::report
