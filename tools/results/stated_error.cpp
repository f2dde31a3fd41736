#include "tools/results/stated_error.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/kernels/step_time.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/step_parts.h"
#include "tools/results/numbers.h"

namespace kvsim::results {
namespace {

using planner::ErrorInterval;
using planner::StatedError;
using planner::StatedErrors;

StatedError error_of(const scenario::Scenario& scenario, const serving::Measurements& m) {
  const double short_share = m.capacity_s > 0 ? m.memory_short_s / m.capacity_s : 0;
  return stated_error(StatedErrors::built_in(), planner::error_question(scenario, short_share), kErrorConfidence);
}

}  // namespace

std::string interval_words(const ErrorInterval& i, std::string_view of) {
  constexpr double kSaysNothing = 100;
  if (i.high > kSaysNothing * i.low) return fmt::format("anything of the predicted {}", of);
  return fmt::format("{} to {} of the predicted {}", figure(i.low), figure(i.high), of);
}

std::string error_words(const StatedError& e) {
  return fmt::format("What engines measured was, nine times in ten, {}, {}, {} ({}: {} in {})",
                     interval_words(e.tpot, "time per output token"), interval_words(e.ttft, "time to first token"),
                     interval_words(e.e2e, "time of a request"), e.group, counted(e.points, "point"),
                     e.groups == 1 ? "one group" : fmt::format("{} groups", e.groups));
}

std::string unknown_words(const std::vector<std::string>& unknown) {
  return fmt::format("No such point has {}: what that adds to the error is not known", fmt::join(unknown, ", "));
}

StatedError error_of(const Outcome& outcome) {
  return error_of(outcome.scenario, outcome.result.measured);
}

std::vector<std::string> not_measured(const scenario::Scenario& scenario) {
  const serving::ServingConfig& c = scenario.serving;
  std::vector<std::string> all;
  if (c.decode.policy != "full_kv" && c.decode.policy != "drafter") all.push_back(c.decode.policy);
  if (!c.cluster.topology().independent()) {
    all.emplace_back("pools of nodes");
  } else if (c.reuse) {
    all.emplace_back("prompts put together from chunks");
  } else if (c.placement || c.prefill != serving::PrefillKind::recompute) {
    all.emplace_back("prompts that are stored");
  }
  if (c.model.window.layers > 0) {
    all.emplace_back(c.model.window.kind == models::WindowKind::selected  ? "layers that attend to selected tokens"
                     : c.model.window.kind == models::WindowKind::chunked ? "layers that attend within chunks"
                                                                          : "layers with a sliding window");
  }
  if (c.model.state.layers > 0) all.emplace_back("layers that keep a state");
  if (!c.model.weights_are_measured()) all.emplace_back("weights of this width");
  return all;
}

namespace {

/// The shares of the predicted iteration that its part of attention over quantised KV may make it: of a run, by what
/// its requests held and its mean iteration.
ErrorInterval quantised_interval(const serving::ServingConfig& c, const serving::GroupConfig& group,
                                 const serving::Measurements& m) {
  const models::QuantisedKernel& kernel = *group.profile.quantised;
  const double iteration_s = m.iteration_s.mean();
  const serving::KvGeometry geometry = serving::configured_geometry(c, group);
  models::StepWork work;
  work.decode.query_tokens =
      static_cast<double>(m.drafting_request_iterations) / static_cast<double>(m.iteration_s.count());
  work.decode.quantised =
      (m.kv_reserved_mean_bytes - m.kv_streaming_mean_bytes) / (geometry.token_bytes() * geometry.compressed().ratio());
  const models::StepTimer timer = serving::step_timer(c, group, group.parallel);
  const double share = std::min(timer.quantised_s(work) / iteration_s, 1.0);
  return {1 - share * (1 - kernel.low), 1, 1 + share * (kernel.high - 1)};
}

}  // namespace

std::string quantised_words(const scenario::Scenario& scenario, const serving::Measurements& m) {
  const serving::ServingConfig& c = scenario.serving;
  const serving::GroupConfig& group = c.cluster.with(&serving::Roles::draft);
  const auto& kernel = group.profile.quantised;
  const serving::DecodePolicy& decode = *serving::find_decode_policy(c.decode.policy);
  if (!kernel || !(kernel->low < kernel->high) || !(decode.reads_compressed || decode.low_bit_copy)) return {};
  const bool fit = kernel->layer_s.source.kind == schema::SourceKind::measurement;
  std::string words =
      fmt::format("{} {}: attention over its KV may take {} to {} of the time that is {} for it beside reading",
                  fit ? "A fit says what attention takes over the KV of" : "Nobody measured attention over the KV of",
                  c.decode.compressor.name, figure(kernel->low), figure(kernel->high), fit ? "said" : "assumed");
  if (m.iteration_s.count() == 0 || m.drafting_request_iterations == 0) return words;
  return words + fmt::format(", which makes {}",
                             interval_words(quantised_interval(c, group, m), "mean iteration, beside other errors"));
}

std::vector<std::string> how_sure(const scenario::Scenario& scenario) {
  return how_sure(scenario, serving::Measurements{});
}

std::vector<std::string> how_sure(const scenario::Scenario& scenario, const serving::Measurements& measured) {
  std::vector<std::string> lines{error_words(error_of(scenario, measured))};
  if (const auto unknown = not_measured(scenario); !unknown.empty()) lines.push_back(unknown_words(unknown));
  if (std::string words = quantised_words(scenario, measured); !words.empty()) lines.push_back(std::move(words));
  return lines;
}

std::vector<std::string> coverage_words(const planner::StatedErrors& errors) {
  constexpr std::size_t kFewest = 2;
  if (errors.groups.size() < kFewest) return {};
  const auto held = [&errors](planner::ErrorFigure f) { return percent(coverage(errors, f, kErrorConfidence)); };
  return {
      fmt::format("Intervals of {} that the other groups state of each model, GPU and engine hold {} of its points "
                  "for TPOT, {} for TTFT, {} for a request's time",
                  percent(kErrorConfidence), held(&planner::FigureErrors::tpot), held(&planner::FigureErrors::ttft),
                  held(&planner::FigureErrors::e2e))};
}

Page stated_errors_page(const planner::StatedErrors& errors) {
  using G = planner::ErrorGroup;
  const auto ratios = [](planner::ErrorFigure figure) {
    return [figure](const G& g) {
      const std::vector<double>& r = g.ratios.*figure;
      const std::size_t middle = r.size() / 2;
      return fmt::format("{}  {}  {}", results::figure(r[1]), results::figure(r[middle]),
                         results::figure(r[r.size() - 2]));
    };
  };
  const Fields<G> fields{
      {kOnPages, "model", &G::model, Align::left},
      {kOnPages, "GPU", &G::gpu, Align::left},
      {kOnPages, "engine", &G::engine, Align::left},
      {kOnPages, "KV memory", [](const G& g) { return std::string(g.memory_full ? "full" : "not full"); }, Align::left},
      {kOnPages, "points", &G::points},
      {kOnPages, "TPOT", ratios(&planner::FigureErrors::tpot), Align::right},
      {kOnPages, "TTFT", ratios(&planner::FigureErrors::ttft), Align::right},
      {kOnPages, "request", ratios(&planner::FigureErrors::e2e), Align::right}};
  Page page;
  page.title = "Errors that kvsim states of its answers";
  page.subtitle = {errors.source + "; measured / predicted: 5th percentile, median, 95th percentile of the points."};
  page.tables = {table_of("What was measured, over what is predicted", fields, errors.groups)};
  const auto apart = [&errors](planner::ErrorFigure figure) {
    return factor(even_below(errors, figure, kErrorConfidence));
  };
  page.lists = {
      {"Stated errors", coverage_words(errors)},
      {"Even",
       {fmt::format(
           "Two predictions for one machine are told apart nine times in ten where they differ by more than {} in "
           "TPOT, {} in TTFT, {} in a request's time",
           apart(&planner::FigureErrors::tpot), apart(&planner::FigureErrors::ttft),
           apart(&planner::FigureErrors::e2e))}}};
  return page;
}

}  // namespace kvsim::results
