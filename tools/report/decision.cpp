// The questions that a reader comes with, answered from whatever results there are, or how to get an answer.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "tools/report/binding.h"
#include "tools/report/choice.h"
#include "tools/report/fleet_words.h"
#include "tools/report/objectives.h"
#include "tools/report/policy_words.h"
#include "tools/report/sections.h"
#include "tools/report/sureness.h"
#include "tools/report/tables.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

using results::figure;

constexpr const char* kWhichPolicy = "Which policy?";
constexpr const char* kWhichPlan = "Which draft length x and keep ratio c?";
constexpr const char* kHowManyGpus = "How many GPUs?";
constexpr const char* kSymbols =
    " x: tokens drafted before they are verified; c: share of the KV that drafts are made on.";
constexpr const char* kWhatBinds = "What binds?";
constexpr const char* kWhatToBuy = "What to buy next?";

std::string interval(double value, double half, std::string (*print)(double)) {
  return cell(value, half, print).text;
}

/// "lossless", or the score.
std::string output_of(const Json& result) {
  if (is_lossless(result)) return "its output is that of full-KV decoding";
  const auto score = number(result, {"quality", "mean_score"});
  return score ? fmt::format("task score {} of the full KV", figure(*score)) : "its output is lossy";
}

/// What the policy does, for those who do not know its name.
std::string said_of(const Json& result) {
  const std::string said = policy_words(result);
  return said.empty() ? said : said + " ";
}

Fact policy_of(const Inputs::Compared& compared) {
  const Criterion by = criterion_of(compared);
  const Bests best = bests_of(compared);
  const std::size_t chosen = chosen_of(compared);
  const Simulated& run = compared.results[chosen];
  const auto figures = [&](std::size_t i) {
    const Json& result = compared.results[i].result;
    std::string said =
        fmt::format("{} {}", by.name, interval(by.of(result), half_width(result, by.interval), by.print));
    if (i != 0) {
      said += fmt::format(", {} of {}", results::factor(gain_of(compared, i)), text(compared.document, {"baseline"}));
    }
    return said + "; " + output_of(result) + ".";
  };
  std::string why = "Best of all";
  if (!by.knows_quality && best.nearly_lossless) {
    why = is_lossless(run.result) ? "Best with lossless output"
                                  : fmt::format("Best at a task score of {} or more", plain(kNearlyLossless));
  }
  Fact f{kWhichPolicy, run.policy, "", "headline"};
  f.detail = fmt::format("{}{}: {}", said_of(run.result), why, figures(chosen));
  if (!by.knows_quality) {
    const auto also = [&](const std::optional<std::size_t>& other, const std::string& what) {
      if (!other || *other == chosen) return false;
      f.detail += fmt::format(" {}: {}: {}", what, compared.results[*other].policy, figures(*other));
      return true;
    };
    also(best.nearly_lossless, fmt::format("At a task score of {} or more", plain(kNearlyLossless)));
    if (best.all != best.nearly_lossless) also(best.all, "Whatever the quality");
  }
  const Json& policies = at(run.result, {"details", "policies"});
  const auto x = number(policies, {"draft_length"}), c = number(policies, {"keep_ratio"});
  if (x && c) f.detail += fmt::format(" Drafts were made with x = {}, c = {}.", plain(*x), plain(*c));
  if (compared.results.size() > 1) f.detail += fmt::format(" {} policies compared.", compared.results.size());
  return f;
}

std::string speedup_text(const Json& simulated) {
  const double mean = number_or_nan(simulated, {"speedup", "mean"});
  if (!std::isfinite(mean)) return {};
  return fmt::format(", {} {} of full-KV decoding", results::factor(mean),
                     results::plus_minus(number_or_nan(simulated, {"speedup", "half_width_95"}), results::factor));
}

/// Draft lengths that were simulated with the best plan's other choices, and came within 1 % of it.
std::string as_good(const Json& simulated) {
  constexpr double close = 0.01;
  const Json& best = at(simulated, {"best"});
  const Json& candidates = at(simulated, {"candidates"});
  if (!candidates.is_array() || candidates.empty()) return {};
  const double most = number_or_nan(candidates[0], {"simulated_tokens_per_s"});
  std::set<double> lengths;
  for (const Json& candidate : candidates) {
    Json plan = at(candidate, {"plan"});
    const auto x = number(plan, {"x"});
    if (!x || !(number_or_nan(candidate, {"simulated_tokens_per_s"}) >= most * (1 - close))) continue;
    plan["x"] = at(best, {"x"});
    if (plan == best) lengths.insert(*x);
  }
  if (lengths.size() < 2) return {};
  return fmt::format(" Draft lengths from {} to {} came within 1 % of it: take any.", plain(*lengths.begin()),
                     plain(*lengths.rbegin()));
}

Fact plan_of(const Json& plan) {
  const Json& simulated = at(plan, {"simulated"});
  const Json& optimum = at(plan, {"optimum"});
  if (!simulated.empty()) {
    Fact f{kWhichPlan, plan_text(at(simulated, {"best"})), "", "alternatives"};
    f.detail = fmt::format(
        "Simulated: {} tokens/s a replica{}, the best of {} candidates. The closed forms alone would "
        "choose {}",
        interval(number_or_nan(simulated, {"throughput_tokens_per_s", "mean"}),
                 number_or_nan(simulated, {"throughput_tokens_per_s", "half_width_95"}), figure),
        speedup_text(simulated), at(simulated, {"candidates"}).size(), plan_text(optimum));
    if (const auto ratio = number(simulated, {"predicted_over_simulated"})) {
      f.detail += fmt::format("; for the plan above they predict {:.1f} % {}", std::fabs(*ratio - 1) * 100,
                              *ratio < 1 ? "less" : "more");
    }
    f.detail += "." + as_good(simulated) + kSymbols;
    return f;
  }
  return {kWhichPlan, plan_text(optimum),
          fmt::format("By the closed forms ({}), not simulated: {} tokens/s a replica, {} of full-KV decoding. "
                      "kvsim plan --simulate checks it.{}",
                      text(plan, {"model"}), figure(number_or_nan(optimum, {"throughput_tokens_per_s"})),
                      results::factor(number_or_nan(plan, {"speedup"})), kSymbols),
          "maps"};
}

/// A sweep over what a plan is about.
std::optional<Fact> swept_plan(const Json& sweep) {
  const Json& set = at(sweep, {"best", "set"});
  std::string said;
  bool about = false;
  for (const auto& [path, value] : set.items()) {
    about = about || path.ends_with("draft_length") || path.ends_with("keep_ratio");
    said += fmt::format("{}{} = {}", said.empty() ? "" : ", ", path.substr(path.rfind('.') + 1), scalar_text(value));
  }
  if (!about) return std::nullopt;
  return Fact{kWhichPlan, said,
              fmt::format("The best of {} points swept: {} = {}.", at(sweep, {"points"}).size(),
                          text(sweep, {"best", "metric"}), figure(number_or_nan(sweep, {"best", "value"}))),
              "maps"};
}

std::string objectives_text(const Json& capacity) {
  std::string said;
  for (const auto& [key, value] : at(capacity, {"slo"}).items()) {
    std::string name = key.substr(0, key.rfind("_s"));
    for (char& c : name) c = c == '_' ? ' ' : c;
    const std::size_t word = name.find(' ');
    for (std::size_t i = 0; i < std::min(word, name.size()); ++i) {
      name[i] = static_cast<char>(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A' : name[i]);
    }
    said += fmt::format("{}{} {}", said.empty() ? "" : ", ", name,
                        value.is_number() ? results::seconds(value.get<double>()) : "-");
  }
  return said;
}

Fact gpus_of(const Json& capacity) {
  const Json& first = at(capacity, {"configurations"})[0];
  const Json& fleet = at(first, {"fleet"});
  const std::string machine = text(first, {"machine"}), policy = text(first, {"policy"});
  const double per_replica = number_or_nan(first, {"tensor_parallel"});
  const std::string within = fmt::format("within {} for {} of the requests (confidence {})", objectives_text(capacity),
                                         results::percent(number_or_nan(capacity, {"attainment_target"})),
                                         results::percent(number_or_nan(capacity, {"confidence"})));
  if (fleet.empty()) {
    const double rate = number_or_nan(first, {"rate_per_replica"});
    if (!std::isfinite(rate)) {
      return {kHowManyGpus, "no rate meets the objectives", within + ", on none of the machines looked at.", "costs"};
    }
    return {kHowManyGpus,
            fmt::format("one replica of {} x {} sustains {} requests/s", plain(per_replica), machine, figure(rate)),
            fmt::format("Under {}, {}. For a fleet: kvsim capacity --rate.", policy, within), "costs"};
  }
  const double dollars = number_or_nan(fleet, {"usd_per_hour"});
  Fact f{kHowManyGpus,
         fmt::format("{} x {} for {} requests/s", plain(number_or_nan(fleet, {"gpus"})), machine,
                     plain(number_or_nan(capacity, {"rate_required"}))),
         fmt::format("{} replicas of {} under {}, {}: {} an hour, {} per 1M output tokens{}.",
                     plain(number_or_nan(fleet, {"replicas"})), plain(per_replica), policy, within, usd(dollars),
                     usd(number_or_nan(fleet, {"usd_per_1m_output_tokens"})),
                     truth(fleet, {"simulated"}) ? "; the fleet was simulated" : "; estimated from one replica"),
         "costs"};
  if (const std::string drafts = draft_settings(capacity); !drafts.empty() && policy.find("full_kv") != 0) {
    f.detail += fmt::format(" Drafts as in the scenario: {}.", drafts);
  }
  f.detail += pooling(capacity, first);
  return f;
}

Fact binds(const Json& explanation) {
  const std::string resource = text(explanation, {"binding", "resource"});
  return {kWhatBinds, resource.empty() ? "nothing by itself" : factor_name(resource),
          text(explanation, {"binding", "sentence"}) + time_and_memory(explanation), "binding"};
}

/// What most of the time of a run was bound by, where nothing explains more.
Fact bound_by(const Simulated& run) {
  std::string most = "unknown";
  double share = -1;
  for (const auto& [key, value] : at(run.result, {"gpu", "bound_by"}).items()) {
    if (value.is_number() && value.get<double>() > share) {
      share = value.get<double>();
      most = key;
    }
  }
  constexpr double half = 0.5;
  Fact f{kWhatBinds, share >= half ? factor_name(most) : "no single resource", "", "binding"};
  if (most == "idle") f.answer = "nothing: the load leaves the GPUs idle much of the time";
  f.detail = fmt::format("Under {} the GPUs' time went to", run.policy);
  const char* separator = " ";
  for (const auto& [key, name] : {std::pair{"hbm_bandwidth", "HBM bandwidth"},
                                  {"compute", "compute"},
                                  {"link", "waiting for a link"},
                                  {"idle", "idling"}}) {
    const double part = number_or_nan(run.result, {"gpu", "bound_by", key});
    if (!(part >= 0.0005)) continue;
    f.detail += fmt::format("{}{} ({})", separator, name, results::percent(part));
    separator = ", ";
  }
  f.detail += ".";
  const double shortage = number_or_nan(run.result, {"details", "short_of_gpu_memory"});
  if (shortage > 0.05) {
    f.detail +=
        fmt::format(" Beside that, GPU memory was short in {} of the time: requests or reloads waited for room.",
                    results::percent(shortage));
  }
  return f;
}

/// What can be bought: not the agreement of drafts, not shorter contexts.
Fact purchase(const Json& explanation) {
  struct Gain {
    std::string name;
    double relative, half;
  };
  std::vector<Gain> gains;
  for (const auto& [key, e] : at(explanation, {"elasticities"}).items()) {
    if (key == "agreement" || key == "context") continue;
    const double relative = number_or_nan(e, {"replanned", "relative"});
    const double half = number(e, {"replanned", "half_width_95"}).value_or(0);
    if (std::isfinite(relative)) gains.push_back({factor_name(key), relative, half});
  }
  std::stable_sort(gains.begin(), gains.end(), [](const Gain& a, const Gain& b) { return a.relative > b.relative; });
  std::string said;
  for (const Gain& g : gains) {
    said += fmt::format("{}{} {:+.1f} % ± {:.1f} %", said.empty() ? "" : ", ", g.name, g.relative * 100, g.half * 100);
  }
  const bool any = !gains.empty() && gains.front().relative > gains.front().half && gains.front().relative > 0;
  return {kWhatToBuy, any ? gains.front().name : "nothing: no gain exceeds its interval",
          fmt::format("Tokens/s for 10 % more of each, planned anew: {}.", said.empty() ? "not known" : said),
          "binding"};
}

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
      add({kWhichPolicy, inputs.runs.front().policy + ", the only one simulated",
           fmt::format("{} tokens/s; {}. kvsim compare sets others beside it.",
                       interval(number_or_nan(run, {"throughput", "output_tokens_per_s"}),
                                half_width(run, "throughput.output_tokens_per_s"), figure),
                       output_of(run)),
           "headline"});
    } else {
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
    if (answered == 0 && verifies_alone(inputs)) {
      add({kWhichPlan, "", "kvsim plan SCENARIO --simulate finds them.", ""});
    }
  }
  for (const Json& c : inputs.capacities) {
    if (!at(c, {"configurations"}).empty()) add(of(gpus_of(c), c));
  }
  if (inputs.capacities.empty() && !has_pools(inputs)) {
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
    if (verifies_alone(inputs)) {
      add({kWhatToBuy, "", "kvsim plan SCENARIO --explain says what more of each resource would bring.", ""});
    }
  }
  add(how_sure(inputs));
  return {"decision", "The decision", {std::move(facts)}};
}

}  // namespace kvsim::report
