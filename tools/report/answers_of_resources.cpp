// How many GPUs, what binds, and what to buy next.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sim/serving/decode_policy.h"
#include "sim/serving/measurements.h"
#include "tools/report/answers.h"
#include "tools/report/documents.h"
#include "tools/report/parts.h"
#include "tools/report/words.h"
#include "tools/results/capacity.h"
#include "tools/results/numbers.h"
#include "tools/results/time_account.h"

namespace kvsim::report {
namespace {

/// "99.0 % of the requests within TTFT <= 30.0 s (confidence 95.0 %)"; where every percentile asks for its own share,
/// "TTFT p99 1.00 s, TPOT p95 40.0 ms (confidence 95.0 %)".
std::string objectives_text(const Json& capacity) {
  const auto target = number(capacity, {"attainment_target"});
  std::string said;
  for (const auto& [key, value] : at(capacity, {"slo"}).items()) {
    const std::size_t middle = key.find('_');
    std::string name = key.substr(0, middle);
    for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const std::string sign =
        target || middle == std::string::npos ? "<=" : key.substr(middle + 1, key.find('_', middle + 1) - middle - 1);
    said += fmt::format("{}{} {} {}", said.empty() ? "" : ", ", name, sign,
                        value.is_number() ? results::seconds(value.get<double>()) : "-");
  }
  if (target) said = fmt::format("{} of the requests within {}", results::percent(*target), said);
  return fmt::format("{} (confidence {})", said, results::percent(number_or_nan(capacity, {"confidence"})));
}

/// ", behind router session"; empty where a document names none.
std::string router_text(const Json& capacity) {
  const std::string router = text(capacity, {"router"});
  return router.empty() ? router : ", behind router " + router;
}

/// " ($101,470 a month of 730 h)"; empty where a document has no such figure.
std::string month_text(const Json& fleet) {
  const auto month = number(fleet, {"usd_per_month"});
  if (!month) return {};
  return fmt::format(" ({} a month of {:g} h)", results::whole_dollars(*month), models::kHoursPerMonth);
}

/// "the fleet was simulated", or how much of it.
std::string simulated_text(const Json& fleet) {
  if (truth(fleet, {"simulated"})) return "the fleet was simulated";
  const auto replicas = number(fleet, {"replicas_simulated"});
  if (!replicas) return "estimated from one replica";
  return fmt::format("{} of its replicas were simulated, at the same load per replica", plain(*replicas));
}

std::string replicas_text(double count) {
  return plain(count) + (count == 1 ? " replica" : " replicas");
}

/// A list behind a comma that goes on behind it: ", 80 GB DRAM,".
std::string with_comma(std::string list) {
  return list.empty() ? list : list + ",";
}

/// A sentence of the document as a line of its own; empty where it has none.
std::string line_of(const Json& document, std::string_view key) {
  std::string words = text(document, {key});
  if (words.empty()) return words;
  words.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(words.front())));
  return fmt::format("\n{}.", words);
}

/// The scenario's settings that the policy decodes with: draft length and keep ratio, or the keep ratio alone.
std::string decoding_line(const Json& capacity, std::string_view policy) {
  const serving::DecodePolicy* decode = serving::find_decode_policy(policy.substr(0, policy.find_first_of(":/")));
  if (decode == nullptr) return {};
  if (decode->verifies) {
    const std::string drafts = draft_settings(capacity);
    return drafts.empty() ? drafts : fmt::format("\nDrafts as in the scenario: {}.", drafts);
  }
  const auto kept = number(resolved_section(capacity, "decode"), {"decode", "keep_ratio"});
  if (!decode->reads_compressed || !kept) return {};
  return fmt::format("\nThe share of the KV that is kept is that of the scenario: c = {}.", plain(*kept));
}

/// A line on those that cannot run, or that a search which was interrupted had not done.
std::string left_out_line(const Json& capacity) {
  const Json& all = at(capacity, {"configurations"});
  const auto left =
      std::count_if(all.begin(), all.end(), [](const Json& c) { return !text(c, {"cannot_run"}).empty(); });
  std::string said;
  if (left > 0) {
    said = fmt::format("\nLeft out of it: {} of {} configurations; the table of costs says why.", left, all.size());
  }
  const std::string interrupted = text(capacity, {"details", "interrupted"});
  return interrupted.empty() ? said : fmt::format("{}\nThe search was interrupted: {}.", said, interrupted);
}

/// Why there is no fleet, or how to ask for one.
std::string no_fleet_text(const Json& capacity) {
  if (const std::string why = text(at(capacity, {"configurations"})[0], {"no_fleet"}); !why.empty()) {
    return fmt::format("No fleet for {}: {}.", required_load(capacity).value_or("-"), why);
  }
  return fmt::format("For a fleet: kvsim capacity {}.",
                     load_of(capacity) == planner::capacity::Load::users ? "--users" : "--rate");
}

/// 0 where there is none, or no number that could be one.
std::int64_t count(const Json& object, std::string_view key) {
  constexpr double most = 1e15;
  const double value = number(object, {key}).value_or(0);
  return value > 0 && value < most ? static_cast<std::int64_t>(value) : 0;
}

}  // namespace

Fact gpus_of(const Json& capacity) {
  const Json& first = at(capacity, {"configurations"})[0];
  const Json& fleet = at(first, {"fleet"});
  const std::string sizes = sizes_of(first);
  const std::string machine = text(first, {"machine"}), policy = text(first, {"policy"});
  const double per_replica = number_or_nan(first, {"tensor_parallel"});
  const std::string within = objectives_text(capacity);
  const bool interrupted = number(capacity, {"interrupted"}).has_value();
  const std::string best_so_far = interrupted ? "best so far: " : "";
  if (fleet.empty()) {
    const double rate = number_or_nan(first, {"rate_per_replica"});
    if (!std::isfinite(rate)) {
      return {kHowManyGpus, "no rate meets the objectives", within + ", on none of the machines looked at.", "costs"};
    }
    return {kHowManyGpus,
            fmt::format("{}one replica of {} x {}{} sustains {}", best_so_far, plain(per_replica), machine,
                        with_comma(sizes), results::load_figure(load_of(capacity), rate)),
            fmt::format("Under {}, {}. {}", policy, within, no_fleet_text(capacity)) +
                line_of(first, "output_differs") + decoding_line(capacity, policy) + line_of(first, "model_error") +
                left_out_line(capacity),
            "costs"};
  }
  const double dollars = number_or_nan(fleet, {"usd_per_hour"});
  Fact f{kHowManyGpus,
         fmt::format("{}{} x {}{}{} for {}", best_so_far, plain(number_or_nan(fleet, {"gpus"})), machine,
                     results::in_nodes(count(fleet, "nodes"), count(fleet, "gpus_per_node")),
                     sizes.empty() ? "" : with_comma(", a replica with " + sizes.substr(2)),
                     required_load(capacity).value_or("-")),
         fmt::format("{} of {} {} under {}{}, {}: {} an hour{}, {} per 1M output tokens; {}.",
                     replicas_text(number_or_nan(fleet, {"replicas"})), plain(per_replica),
                     per_replica == 1 ? "GPU" : "GPUs", policy, router_text(capacity), within, usd(dollars),
                     month_text(fleet), usd(number_or_nan(fleet, {"usd_per_1m_output_tokens"})), simulated_text(fleet)),
         "costs"};
  if (const auto dram = number(fleet, {"dram_share"}); dram && *dram > 0) {
    f.detail += fmt::format("\nHost memory is {} of the price.", whole_percent(*dram));
  }
  if (stores_prompts(capacity)) {
    f.detail += fmt::format("\nOf it GPUs {}, {} of host memory {}, {} of storage {}.",
                            usd(number_or_nan(fleet, {"usd_per_hour_gpus"})),
                            results::bytes_of_gb(number(fleet, {"dram_gb"}).value_or(0)),
                            usd(number(fleet, {"usd_per_hour_dram"}).value_or(0)),
                            results::bytes_of_gb(number(fleet, {"ssd_gb"}).value_or(0)),
                            usd(number(fleet, {"usd_per_hour_ssd"}).value_or(0)));
  }
  f.detail += line_of(first, "output_differs") + decoding_line(capacity, policy) + line_of(first, "model_error");
  if (const double cost = number_or_nan(fleet, {"usd_per_hour_with_model_error"}); std::isfinite(cost)) {
    f.detail += fmt::format("\nThat costs {} an hour.", usd(cost));
  }
  f.detail += line_of(capacity, "cheaper_with_model_error") + pooling(capacity, first) + left_out_line(capacity);
  return f;
}

namespace {

/// "3 x h100-sxm, $7.50 an hour" of its fleet, "h100-sxm x 2, 4.20 requests/s a replica" without one.
std::string found_words(const Json& capacity, const Json& c) {
  const Json& fleet = at(c, {"fleet"});
  if (!fleet.empty()) {
    return fmt::format("{} x {}{}, {} an hour", plain(number_or_nan(fleet, {"gpus"})), text(c, {"machine"}),
                       sizes_of(c), usd(number_or_nan(fleet, {"usd_per_hour"})));
  }
  const double rate = number_or_nan(c, {"rate_per_replica"});
  if (!std::isfinite(rate)) {
    const std::string why = text(c, {"cannot_run"}) + text(c, {"cannot_serve"});
    return why.empty() ? "no rate meets the objectives" : why;
  }
  return fmt::format("{} x {}{}, {} a replica", text(c, {"machine"}), plain(number_or_nan(c, {"tensor_parallel"})),
                     sizes_of(c), results::load_figure(load_of(capacity), rate));
}

}  // namespace

std::optional<Fact> searched_policy(const Json& capacity) {
  constexpr std::size_t most = 8;
  std::vector<std::pair<std::string, const Json*>> policies;  // the best configuration of each
  for (const Json& c : at(capacity, {"configurations"})) {
    const std::string policy = text(c, {"policy"});
    const bool known = std::any_of(policies.begin(), policies.end(), [&](const auto& p) { return p.first == policy; });
    if (!known) policies.emplace_back(policy, &c);
  }
  if (policies.size() < 2) return std::nullopt;
  const Json& first = *policies.front().second;
  const bool served = has(first, {"fleet"}) || number(first, {"rate_per_replica"}).has_value();
  Fact f{kWhichPolicy, served ? policies.front().first : "none of those searched meets the objectives",
         fmt::format("Of {} policies searched, {}.", policies.size(),
                     truth(capacity, {"cheapest", "by_price"}) ? "the cheapest first" : "the best first"),
         "costs"};
  for (std::size_t i = 0; i < std::min(most, policies.size()); ++i) {
    const auto& [policy, c] = policies[i];
    const std::string differs = text(*c, {"output_differs"});
    f.detail += fmt::format("\n{}: {}{}.", policy, found_words(capacity, *c), differs.empty() ? "" : "; " + differs);
  }
  if (policies.size() > most) f.detail += fmt::format("\nAnd {} more in the table of costs.", policies.size() - most);
  return f;
}

Fact binds(const Json& explanation) {
  const std::string resource = text(explanation, {"binding", "resource"});
  return {kWhatBinds, resource.empty() ? "nothing by itself" : factor_name(resource),
          text(explanation, {"binding", "sentence"}) + time_and_memory(explanation) + explained_plan(explanation),
          "binding"};
}

namespace {

/// Where the thread that tokenises never rests, it is what binds, whatever the GPUs' time went to.
void add_tokeniser(Fact& f, double busy) {
  constexpr double half = 0.5;
  if (!(busy >= half)) return;
  if (busy >= serving::kNeverRests) f.answer = "the thread that turns prompts into tokens";
  f.detail += fmt::format(
      "\nThe thread that turns a replica's prompts into tokens (schedule.engine.tokenise) was at work in {} of the "
      "time{}.",
      results::percent(busy), busy >= serving::kNeverRests ? ": requests wait for it, however fast the GPUs are" : "");
}

/// A link that never rests beside the iterations is the bottleneck, too.
void add_link(Fact& f, double in_use) {
  if (!(in_use > serving::kLinkInUse)) return;
  if (in_use >= serving::kNeverRests) f.answer = "the busiest link";
  f.detail += fmt::format(
      "\nThe busiest link carried loads and stores beside the iterations in {} of the time. Only a run with twice of "
      "it "
      "shows what that brings.",
      results::percent(in_use));
}

}  // namespace

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
  Fact f{kWhatBinds,
         share < 0 || share >= half ? factor_name(most) : "several resources, most of all " + factor_name(most), "",
         "binding"};
  if (most == "idle") f.answer = "nothing: the load leaves the GPUs idle much of the time";
  f.detail = fmt::format("Under {} the GPUs' time went to", run.policy);
  const char* separator = " ";
  bool gains = false;
  for (const serving::TimePartName& of : serving::kTimeParts) {
    const double part = number_or_nan(run.result, {"gpu", "bound_by", of.key});
    if (!(part >= 0.0005)) continue;
    const std::string gain = results::gain_text(number_or_nan(run.result, {"gpu", "twice", of.key}));
    gains = gains || !gain.empty();
    f.detail += fmt::format("{}{} ({}{})", separator, time_part_name(of.key), results::percent(part),
                            gain.empty() ? "" : ", twice it " + gain);
    separator = ", ";
  }
  f.detail += ".";
  if (gains)
    f.detail += "\nBehind a share stands how much faster the same iterations would be with twice the resource.";
  const double launched = number_or_nan(run.result, {"iterations", "launched"});
  const double of = number_or_nan(run.result, {"iterations", "count"});
  if (launched > 0 && of > 0) {
    f.detail +=
        fmt::format("\n{} of {} iterations had more tokens than captured ones have and were launched kernel by kernel.",
                    results::whole(std::llround(launched)), results::whole(std::llround(of)));
  }
  add_tokeniser(f, number_or_nan(run.result, {"tokeniser", "busy_fraction"}));
  add_link(f, number_or_nan(run.result, {"gpu", "link_in_use"}));
  const double shortage = number_or_nan(run.result, {"details", "short_of_gpu_memory"});
  if (shortage > 0.05) {
    f.detail +=
        fmt::format("\nBeside that, GPU memory was short in {} of the time: requests or reloads waited for room.",
                    results::percent(shortage));
  }
  return f;
}

namespace {

/// Sentence on rates above the one that a replica sustains, by what limits it there.
std::string beyond(std::string limit) {
  if (limit.empty()) return {};
  if (limit == "queue") return "\nAbove that rate more requests come than are served.";
  if (limit == "memory") return "\nAbove that rate requests are refused for want of memory.";
  if (limit == "unfinished") return "\nAbove that rate requests do not finish.";
  for (char& c : limit) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return fmt::format("\nAbove that rate, requests miss their {} first.", limit);
}

}  // namespace

std::optional<Fact> bound_at_rate(const Json& capacity) {
  const Json& first = at(capacity, {"configurations"})[0];
  std::string most;
  double share = 0;
  for (const auto& [key, part] : at(first, {"bound_by"}).items()) {
    if (!part.is_number() || part.get<double>() <= share) continue;
    share = part.get<double>();
    most = key;
  }
  if (most.empty()) return std::nullopt;
  Fact f{kWhatBinds, most == "idle" ? "no resource of the GPUs: they idle much of the time" : factor_name(most),
         fmt::format("{} of the GPUs' time under {} at the rate that one replica sustains.", results::percent(share),
                     text(first, {"policy"})),
         "costs"};
  if (const std::string gain = results::gain_text(number_or_nan(first, {"twice", most})); !gain.empty()) {
    f.detail += fmt::format("\nThe same iterations would be {} faster with twice of it.", gain);
  }
  add_tokeniser(f, number_or_nan(first, {"tokeniser_busy"}));
  add_link(f, number_or_nan(first, {"link_in_use"}));
  f.detail += beyond(text(first, {"limited_by"}));
  return f;
}

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
  const auto sure =
      std::find_if(gains.begin(), gains.end(), [](const Gain& g) { return g.relative > 0 && g.relative > g.half; });
  return {kWhatToBuy, sure == gains.end() ? "nothing: no gain exceeds its interval" : sure->name,
          fmt::format("Tokens/s for 10 % more of each, planned anew: {}.{}", said.empty() ? "not known" : said,
                      explained_plan(explanation)),
          "binding"};
}

}  // namespace kvsim::report
