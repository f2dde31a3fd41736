#include "tools/results/rivals.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/results/metrics.h"
#include "tools/results/numbers.h"
#include "tools/results/scenario_words.h"
#include "tools/results/stated_error.h"

namespace kvsim::results {
namespace {

using planner::ErrorFigure;
using planner::FigureErrors;
using planner::StatedErrors;

/// A figure that alternatives compete in, and the error that is of it.
struct Compared {
  std::string key;
  std::string_view words;
  ErrorFigure error;
  bool latency = true;  ///< of requests that finished
};

/// As a comparison prints them.
std::vector<Compared> compared(const std::string& ttft) {
  return {
      {"throughput.output_tokens_per_s", "output tokens/s", &FigureErrors::e2e, false},
      {"latency_s.tpot.mean", "mean time per output token", &FigureErrors::tpot},
      {ttft, ttft.ends_with("mean") ? "mean time to first token" : "median time to first token", &FigureErrors::ttft}};
}

/// "Even in output tokens/s, closer than 1.4x to the best: a, b"; empty where nothing is. Of what is compared alone.
std::string even_words(const std::vector<Rival>& rivals, const Compared& figure) {
  const double apart = even_below(StatedErrors::built_in(), figure.error, kErrorConfidence);
  const bool less = less_is_better(figure.key);
  std::vector<std::pair<double, std::string>> values;
  double best = 0;
  for (const Rival& r : rivals) {
    const double v = r.figure(figure.key);
    if (!std::isfinite(v) || !(v > 0) || !r.row.served || (figure.latency && !r.row.all_finished)) continue;
    if (best == 0 || (less ? v < best : v > best)) best = v;
    values.emplace_back(v, r.policy);
  }
  std::vector<std::string> even;
  for (auto& [v, name] : values) {
    if (std::max(v, best) / std::min(v, best) < apart) even.push_back(std::move(name));
  }
  if (even.size() < 2) return {};
  return fmt::format("Even in {}, closer than {} to the best: {}", figure.words, factor(apart), fmt::join(even, ", "));
}

/// The time to the first token that a comparison of these outcomes prints first.
std::string compared_ttft(const std::vector<Outcome>& outcomes) {
  const scenario::Scenario& first = outcomes.front().scenario;
  return first.workload.chunks || first.serving.placement ? "latency_s.ttft.mean" : "latency_s.ttft.p50";
}

/// Whether the times of those requests that finished say something of all: fewer than half are the quick ones.
bool most_finished(const serving::Measurements& measured) {
  return measured.completed_measured > 0 && 2 * measured.completed >= measured.arrived;
}

}  // namespace

std::vector<Competitor> competitors_of(const std::vector<Outcome>& outcomes) {
  std::vector<Competitor> rows;
  for (const Outcome& o : outcomes) {
    const serving::Measurements& m = o.result.measured;
    rows.push_back(
        {lossless(o.scenario), m.output_tokens > 0, m.refused == 0 && most_finished(m) && unsteady_state(o).empty()});
  }
  return rows;
}

std::vector<Rival> rivals_of(const std::vector<Outcome>& outcomes) {
  const std::vector<Competitor> rows = competitors_of(outcomes);
  std::vector<Rival> rivals;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& o = outcomes[i];
    const serving::Measurements& m = o.result.measured;
    rivals.push_back({o.policy.empty() ? o.scenario.name : o.policy, rows[i], m.arrived, m.completed, m.refused,
                      m.running, most_finished(m), o.scenario.workload.closed.has_value(),
                      [&o](std::string_view path) { return Figures(o).at(path); }});
  }
  return rivals;
}

std::string latency_note(const std::vector<Rival>& rivals, bool ttft_only) {
  std::vector<std::string> not_compared, unfinished;
  for (const Rival& r : rivals) {
    if (r.refused > 0) {
      not_compared.push_back(
          fmt::format("{} ({} of {} requests refused)", r.policy, whole(r.refused), whole(r.arrived)));
    } else if (!r.most_finished) {
      not_compared.push_back(
          fmt::format("{} ({} of {} requests finished)", r.policy, whole(r.completed), whole(r.arrived)));
    } else if (r.running > 0 && !r.closed) {
      unfinished.push_back(fmt::format("{} {} of {}", r.policy, whole(r.running), whole(r.arrived)));
    }
  }
  std::string note =
      fmt::format("{}: of requests that finished in the measured time", ttft_only ? "TTFT" : "TTFT, TPOT");
  if (!not_compared.empty()) note += fmt::format("; latencies not compared: {}", fmt::join(not_compared, ", "));
  if (!unfinished.empty()) note += fmt::format("; unfinished at the end of the run: {}", fmt::join(unfinished, ", "));
  return note;
}

std::vector<std::string> even_sentences(const std::vector<Rival>& rivals, std::string_view ttft) {
  std::vector<std::string> sentences;
  for (const Compared& figure : compared(std::string(ttft))) {
    if (std::string words = even_words(rivals, figure); !words.empty()) sentences.push_back(std::move(words));
  }
  return sentences;
}

std::vector<std::string> how_sure(const std::vector<Outcome>& outcomes) {
  std::vector<std::string> lines, unknown;
  const auto add = [](std::vector<std::string>& to, std::string line) {
    if (!line.empty() && std::find(to.begin(), to.end(), line) == to.end()) to.push_back(std::move(line));
  };
  for (const Outcome& o : outcomes) {
    add(lines, error_words(error_of(o)));
    for (std::string& what : not_measured(o.scenario)) add(unknown, std::move(what));
    add(lines, quantised_words(o.scenario, o.result.measured));
  }
  if (!unknown.empty()) lines.push_back(unknown_words(unknown));
  if (outcomes.size() > 1) {
    for (std::string& words : even_sentences(rivals_of(outcomes), compared_ttft(outcomes)))
      add(lines, std::move(words));
  }
  return lines;
}

}  // namespace kvsim::results
