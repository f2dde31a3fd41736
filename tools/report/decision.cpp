// The questions that a reader comes with, answered from whatever results there are, or how to get an answer.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tools/report/answers.h"
#include "tools/report/best_policy.h"
#include "tools/report/parts.h"
#include "tools/report/report.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

template <class Holds>
bool any_run(const Inputs& inputs, Holds holds) {
  for (const Inputs::Compared& c : inputs.compares) {
    for (const Simulated& run : c.results) {
      if (holds(run.result)) return true;
    }
  }
  return std::any_of(inputs.runs.begin(), inputs.runs.end(), [&](const Simulated& run) { return holds(run.result); });
}

bool has_pools(const Inputs& inputs) {
  return any_run(inputs, [](const Json& r) { return has(r, {"details", "pools"}); });
}

/// Whether the scenarios are such as the planner explains: not pools, stored prompts, chunks or fetched KV.
bool verifies_alone(const Inputs& inputs) {
  return !any_run(inputs, [](const Json& r) {
    return has(r, {"details", "pools"}) || has(r, {"placement"}) || has(r, {"answers"}) || has(r, {"fetch"});
  });
}

/// Goes through the questions one by one. What no result answers is asked with the command that would answer it, where
/// there is one for such scenarios.
class Questions {
 public:
  explicit Questions(const Inputs& inputs) : inputs_(inputs), asked_(inputs.size() > inputs.others.size()) {
    for (const Inputs::Compared& c : inputs.compares) names_.insert(scenario_of(c.document));
    for (const Simulated& run : inputs.runs) names_.insert(scenario_of(run.result));
    for (const auto* list : {&inputs.plans, &inputs.capacities, &inputs.sweeps}) {
      for (const Json& document : *list) names_.insert(scenario_of(document));
    }
  }

  void policy() {
    for (const Inputs::Compared& c : inputs_.compares) add(policy_of(c), c.document);
    if (!inputs_.compares.empty()) return;
    if (inputs_.runs.size() == 1) {
      add(only_run(inputs_.runs.front()), inputs_.runs.front().result);
    } else if (const auto swept = swept_policy(inputs_)) {
      facts_.push_back(*swept);
    } else {
      open(kWhichPolicy, "kvsim compare SCENARIO sets policies side by side.");
    }
  }

  void plan() {
    for (const Json& p : inputs_.plans) add(plan_of(p), p);
    if (!inputs_.plans.empty()) return;
    bool answered = false;
    for (const Json& sweep : inputs_.sweeps) {
      auto f = swept_plan(sweep);
      if (f) add(std::move(*f), sweep);
      answered = answered || f;
    }
    if (!answered && verifies_alone(inputs_)) open(kWhichPlan, "kvsim plan SCENARIO --simulate finds them.");
  }

  void gpus() {
    for (const Json& c : inputs_.capacities) {
      if (!at(c, {"configurations"}).empty()) add(gpus_of(c), c);
    }
    if (inputs_.capacities.empty() && !has_pools(inputs_)) {
      open(kHowManyGpus, "kvsim capacity SCENARIO --rate R finds the cheapest fleet for a rate.");
    }
  }

  /// What binds, and what to buy: both from the explanation of a plan, else the first from where the time went.
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
    if (verifies_alone(inputs_)) {
      open(kWhatToBuy, "kvsim plan SCENARIO --explain says what more of each resource would bring.");
    }
  }

  void sureness() {
    if (asked_) facts_.push_back(how_sure(inputs_));
  }

  [[nodiscard]] std::vector<Fact> take() { return std::move(facts_); }

 private:
  /// Of several scenarios, every answer says whose it is.
  void add(Fact f, const Json& document) {
    if (names_.size() > 1) f.scenario = scenario_of(document);
    facts_.push_back(std::move(f));
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
  bool asked_;  ///< there is more than documents of other kinds, which answer none of it
  std::set<std::string> names_;
  std::vector<Fact> facts_;
};

}  // namespace

Section decision(const Inputs& inputs) {
  Questions questions(inputs);
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
