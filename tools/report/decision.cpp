// The questions that a reader comes with, answered from whatever results there are, or how to get an answer.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "tools/report/binding.h"
#include "tools/report/choice.h"
#include "tools/report/policy_words.h"
#include "tools/report/sections.h"
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
constexpr const char* kHowSure = "How sure is this?";

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
  const std::size_t chosen = chosen_of(compared);
  const Simulated& run = compared.results[chosen];
  const std::string baseline = text(compared.document, {"baseline"});
  const bool throughput = by.name == "output tokens/s";
  const auto figures = [&](std::size_t i) {
    const Json& result = compared.results[i].result;
    const double half = half_width(result, throughput ? "throughput.output_tokens_per_s" : "latency_s.ttft.mean");
    std::string said =
        fmt::format("{} {}", by.name, interval(by.of(result), throughput || by.less ? half : std::nan(""), by.print));
    if (i != 0) said += fmt::format(", {} of {}", results::factor(gain_of(compared, i)), baseline);
    return said + "; " + output_of(result);
  };
  Fact f{kWhichPolicy, run.policy, "", "headline"};
  f.detail =
      fmt::format("{}: {}.", is_lossless(run.result) ? "Best with lossless output" : "Best of all", figures(chosen));
  if (const auto best = best_of(compared, false); best && *best != chosen) {
    f.detail += fmt::format(" Best of all is {}: {}.", compared.results[*best].policy, figures(*best));
  }
  if (compared.results.size() > 1) f.detail += fmt::format(" {} policies compared.", compared.results.size());
  f.detail = said_of(run.result) + f.detail;
  return f;
}

std::string speedup_text(const Json& simulated) {
  const double mean = number_or_nan(simulated, {"speedup", "mean"});
  if (!std::isfinite(mean)) return {};
  return fmt::format(", {} {} of full-KV decoding", results::factor(mean),
                     results::plus_minus(number_or_nan(simulated, {"speedup", "half_width_95"}), results::factor));
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
    f.detail += std::string(".") + kSymbols;
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
  return {kHowManyGpus,
          fmt::format("{} x {} for {} requests/s", plain(number_or_nan(fleet, {"gpus"})), machine,
                      plain(number_or_nan(capacity, {"rate_required"}))),
          fmt::format("{} replicas of {} under {}, {}: {} an hour, {} per 1M output tokens{}.",
                      plain(number_or_nan(fleet, {"replicas"})), plain(per_replica), policy, within, usd(dollars),
                      usd(number_or_nan(fleet, {"usd_per_1m_output_tokens"})),
                      truth(fleet, {"simulated"}) ? "; the fleet was simulated" : "; estimated from one replica"),
          "costs"};
}

Fact binds(const Json& explanation) {
  const std::string resource = text(explanation, {"binding", "resource"});
  return {kWhatBinds, resource.empty() ? "nothing by itself" : factor_name(resource),
          text(explanation, {"binding", "sentence"}), "binding"};
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
  Fact f{kWhatBinds, factor_name(most),
         fmt::format("{} of the GPUs' time under {}.", results::percent(std::max(0.0, share)), run.policy), "binding"};
  const double shortage = number_or_nan(run.result, {"details", "short_of_gpu_memory"});
  if (shortage > 0.05) {
    f.detail +=
        fmt::format(" Beside that, GPU memory was short in {} of the time: requests or reloads waited for room.",
                    results::percent(shortage));
  }
  f.detail += " What more of each would bring: kvsim plan --explain.";
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

/// Half of the 95 % interval of tokens/s, relative to them; not a number where there is none.
double relative_half(const Json& result) {
  const double value = number_or_nan(result, {"throughput", "output_tokens_per_s"});
  return value > 0 ? half_width(result, "throughput.output_tokens_per_s") / value : std::nan("");
}

std::string within(double relative) {
  return fmt::format("tokens/s within ± {:.1f} %", relative * 100);
}

/// What is known of how sure a report is; `answer` is the first of it.
struct Sureness {
  std::string answer;
  std::vector<std::string> sentences;

  void first(std::string text) {
    if (answer.empty()) answer = std::move(text);
  }
};

void add_run(Sureness& sure, const Simulated& run) {
  const double relative = relative_half(run.result);
  if (!std::isfinite(relative)) return;
  sure.first(within(relative));
  const double replications = number(run.result, {"details", "replications"}).value_or(1);
  sure.sentences.push_back(fmt::format("Under {}: {} ({})", run.policy, within(relative),
                                       replications > 1
                                           ? fmt::format("95 % interval over {} seeds", plain(replications))
                                           : "95 % interval by batch means of one run"));
}

void add_plan(Sureness& sure, const Json& plan) {
  const Json& tokens = at(plan, {"simulated", "throughput_tokens_per_s"});
  const double relative = number_or_nan(tokens, {"half_width_95"}) / number_or_nan(tokens, {"mean"});
  if (!std::isfinite(relative)) {
    sure.sentences.emplace_back("Plan: closed forms alone, not checked by simulation");
    return;
  }
  sure.first(within(relative));
  sure.sentences.push_back(fmt::format("Plan: {} (95 % interval over {} seeds that were not used to choose)",
                                       within(relative), plain(number_or_nan(tokens, {"replications"}))));
}

/// What the figures rest on, counted.
void add_figures(Sureness& sure, const std::vector<const Json*>& results) {
  std::set<std::string> all, assumed, fallbacks, assumptions;
  for (const Json* result : results) {
    for (const Json& s : at(*result, {"details", "sources"})) {
      all.insert(text(s, {"figure"}));
      if (text(s, {"source"}) == "assumption") assumed.insert(text(s, {"figure"}));
    }
    for (const std::string& f : texts(*result, {"details", "fallbacks"})) fallbacks.insert(f);
    for (const std::string& a : texts(*result, {"details", "assumptions"})) assumptions.insert(a);
  }
  if (!all.empty()) {
    sure.sentences.push_back(
        fmt::format("Of {} figures of machines, models and compressors, {} are assumptions; the "
                    "others are measured, published, derived or a datasheet's",
                    all.size(), assumed.size()));
  }
  if (!assumptions.empty()) sure.sentences.push_back(fmt::format("Assumptions listed: {}", assumptions.size()));
  if (!fallbacks.empty()) {
    sure.sentences.push_back(
        fmt::format("Fall-backs, such as kernels measured on another machine: {}", fallbacks.size()));
  }
}

Fact how_sure(const Inputs& inputs) {
  Sureness sure;
  std::vector<const Json*> results;
  for (const Json& plan : inputs.plans) {
    add_plan(sure, plan);
    results.push_back(&plan);
  }
  for (const Inputs::Compared& c : inputs.compares) {
    add_run(sure, c.results[chosen_of(c)]);
    for (const Simulated& run : c.results) results.push_back(&run.result);
  }
  for (const Simulated& run : inputs.runs) {
    add_run(sure, run);
    results.push_back(&run.result);
  }
  for (const Json& capacity : inputs.capacities) {
    const std::string confidence = results::percent(number_or_nan(capacity, {"confidence"}));
    sure.first(fmt::format("the objectives hold with a confidence of {}", confidence));
    sure.sentences.push_back(fmt::format("Fleet: the objectives hold with a confidence of {}", confidence));
  }
  add_figures(sure, results);
  Fact f{kHowSure, sure.answer, "", "provenance"};
  for (const std::string& sentence : sure.sentences) f.detail += sentence + ". ";
  if (f.detail.empty()) f.detail = "These results say nothing about it. ";
  f.detail += "That is chance alone: how far kvsim's models are off is in its documentation (docs/validation.md).";
  return f;
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
    if (answered == 0) add({kWhichPlan, "", "kvsim plan SCENARIO --simulate finds them.", ""});
  }
  for (const Json& c : inputs.capacities) {
    if (!at(c, {"configurations"}).empty()) add(of(gpus_of(c), c));
  }
  if (inputs.capacities.empty()) {
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
    add({kWhatToBuy, "", "kvsim plan SCENARIO --explain says what more of each resource would bring.", ""});
  }
  add(how_sure(inputs));
  return {"decision", "The decision", {std::move(facts)}};
}

}  // namespace kvsim::report
