// The questions that a reader comes with, answered from whatever results there are, or how to get an answer.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tools/report/answers.h"
#include "tools/report/choice.h"
#include "tools/report/sections.h"
#include "tools/report/sureness.h"
#include "tools/report/tables.h"
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

}  // namespace

Section decision(const Inputs& inputs) {
  Facts facts;
  const auto add = [&facts](Fact f) { facts.facts.push_back(std::move(f)); };
  std::set<std::string> names;
  const auto scenario = [&names](const Json& d) { names.insert(scenario_of(d)); };
  for (const auto& c : inputs.compares) scenario(c.document);
  for (const auto* list : {&inputs.plans, &inputs.capacities, &inputs.sweeps}) {
    for (const Json& d : *list) scenario(d);
  }
  // Of several scenarios, every answer says whose it is.
  const auto of = [&names](Fact f, const Json& document) {
    if (names.size() > 1) f.scenario = scenario_of(document);
    return f;
  };
  for (const Inputs::Compared& c : inputs.compares) add(of(policy_of(c), c.document));
  if (inputs.compares.empty()) {
    if (inputs.runs.size() == 1) {
      const Json& run = inputs.runs.front().result;
      const bool finished = number(run, {"requests", "completed"}).value_or(0) > 0;
      add({kWhichPolicy, inputs.runs.front().policy + (finished ? ", the only one simulated" : ": no request finished"),
           fmt::format("{} tokens/s; {}. kvsim compare sets others beside it.",
                       interval_text(number_or_nan(run, {"throughput", "output_tokens_per_s"}),
                                     half_width(run, "throughput.output_tokens_per_s"), results::figure),
                       output_words(run)),
           "headline"});
    } else if (const auto swept = swept_policy(inputs)) {
      add(*swept);
    } else if (inputs.size() > inputs.others.size()) {
      add({kWhichPolicy, "", "kvsim compare SCENARIO sets policies side by side.", ""});
    }
  }
  for (const Json& p : inputs.plans) add(of(plan_of(p), p));
  if (inputs.plans.empty()) {
    std::size_t answered = 0;
    for (const Json& sweep : inputs.sweeps) {
      if (auto f = swept_plan(sweep)) {
        add(of(std::move(*f), sweep));
        ++answered;
      }
    }
    if (answered == 0 && verifies_alone(inputs) && inputs.size() > inputs.others.size()) {
      add({kWhichPlan, "", "kvsim plan SCENARIO --simulate finds them.", ""});
    }
  }
  for (const Json& c : inputs.capacities) {
    if (!at(c, {"configurations"}).empty()) add(of(gpus_of(c), c));
  }
  if (inputs.capacities.empty() && !has_pools(inputs) && inputs.size() > inputs.others.size()) {
    add({kHowManyGpus, "", "kvsim capacity SCENARIO --rate R finds the cheapest fleet for a rate.", ""});
  }
  bool explained = false;
  for (const Json& p : inputs.plans) {
    const Json& e = at(p, {"explanation"});
    if (e.empty()) continue;
    add(of(binds(e), p));
    add(of(purchase(e), p));
    explained = true;
  }
  if (!explained) {
    for (const Inputs::Compared& c : inputs.compares) add(of(bound_by(c.results[chosen_of(c)]), c.document));
    if (inputs.compares.empty() && !inputs.runs.empty()) add(bound_by(inputs.runs.front()));
    if (inputs.compares.empty() && inputs.runs.empty()) {
      for (const Json& c : inputs.capacities) {
        if (at(c, {"configurations"}).empty()) continue;
        if (auto f = bound_at_rate(c)) add(of(std::move(*f), c));
      }
    }
    if (verifies_alone(inputs) && inputs.size() > inputs.others.size()) {
      add({kWhatToBuy, "", "kvsim plan SCENARIO --explain says what more of each resource would bring.", ""});
    }
  }
  if (inputs.size() > inputs.others.size()) add(how_sure(inputs));
  if (facts.facts.empty()) return {"decision", "The decision", {}};
  return {"decision", "The decision", {std::move(facts)}};
}

}  // namespace kvsim::report
