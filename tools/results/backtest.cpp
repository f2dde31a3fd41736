#include "tools/results/backtest.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/plot/chart.h"
#include "tools/results/backtest_recordings.h"
#include "tools/results/calibration.h"
#include "tools/results/documents.h"
#include "tools/results/numbers.h"
#include "tools/results/stated_error.h"
#include "tools/results/time_account.h"

namespace kvsim::results {
namespace {

using models::ErrorSummary;
using planner::backtest::Backtest;
using planner::backtest::BacktestPoint;
using planner::backtest::GroupErrors;
using planner::backtest::OutOfScope;
using planner::backtest::PointErrors;
using planner::backtest::Prediction;

using PointError = std::optional<double> (BacktestPoint::*)() const;

/// A figure of the prediction; none where there is none.
auto predicted_figure(double Prediction::*figure) {
  return
      [figure](const BacktestPoint& p) { return p.predicted ? std::optional((*p.predicted).*figure) : std::nullopt; };
}

auto measured_figure(std::optional<double> planner::backtest::ServingPoint::*figure) {
  return [figure](const BacktestPoint& p) { return p.point.*figure; };
}

auto point_word(std::string planner::backtest::ServingPoint::*word) {
  return [word](const BacktestPoint& p) { return p.point.*word; };
}

auto group_word_of(std::string planner::backtest::PointGroup::*word) {
  return [word](const BacktestPoint& p) { return p.group.*word; };
}

auto point_count(std::int64_t planner::backtest::ServingPoint::*number) {
  return [number](const BacktestPoint& p) { return p.point.*number; };
}

/// Parts of the GPUs' time, with their shares; lack of memory beside it, and the thread that tokenises, which is
/// what binds where it never rests.
std::string what_binds(const BacktestPoint& p) {
  if (!p.predicted) return "";
  const Prediction& of = *p.predicted;
  std::string words = bound_words(of.bound_by);
  constexpr double kWorthSaying = 0.05;
  if (of.memory_short >= kWorthSaying) words += fmt::format(", KV memory full {}", percent(of.memory_short));
  constexpr double kHalf = 0.5;
  if (of.tokeniser_busy >= serving::kNeverRests) {
    words = fmt::format("tokenising thread {}, {}", percent(of.tokeniser_busy), words);
  } else if (of.tokeniser_busy >= kHalf) {
    words += fmt::format(", tokenising thread {}", percent(of.tokeniser_busy));
  }
  return words;
}

/// Which point it is.
const Fields<BacktestPoint>& identity_fields() {
  using S = planner::backtest::ServingPoint;
  using G = planner::backtest::PointGroup;
  static const Fields<BacktestPoint> fields{
      {"id", {kText, "what its file calls the point"}, "point", point_word(&S::id), Align::left},
      {"at",
       {kText, "where it was read: file, line and column"},
       [](const BacktestPoint& p) { return p.point.origin.str(); }},
      {"model", {kText, "name in the catalogue; as published where it is not known"}, group_word_of(&G::model)},
      {"gpu", {kText, "name in the catalogue; as published where it is not known"}, group_word_of(&G::gpu)},
      {"engine", {kText, "which engine served"}, group_word_of(&G::engine)},
      {"engine_version", {kText, "its version"}, point_word(&S::version)},
      {"precision",
       {kText, "number format of the weights, and of KV where that is not 16 bit"},
       group_word_of(&G::precision)},
      {"parallelism", {kText, "how its GPUs share the work: tp2, tp8 ep8"}, group_word_of(&G::parallelism)},
      {"source", {kText, "who measured it"}, point_word(&S::source)},
      {"prompt_tokens", {kTokens, "longest prompt"}, "isl", point_count(&S::prompt_tokens)},
      {"output_tokens", {kTokens, "longest output"}, "osl", point_count(&S::output_tokens)},
      {"concurrency", {kRequests, "clients of the closed loop; 0: not given"}, "clients", point_count(&S::clients)}};
  return fields;
}

const Fields<BacktestPoint>& figure_fields() {
  using S = planner::backtest::ServingPoint;
  static const Fields<BacktestPoint> fields{
      {"measured_tpot_s", {kSeconds, "time per output token, as its file has it"}, measured_figure(&S::tpot_s)},
      {"predicted_tpot_s",
       {kSeconds, "mean over requests of (last token - first token) / (output tokens - 1)"},
       predicted_figure(&Prediction::tpot_s)},
      {"tpot_error", {kShare, "predicted / measured - 1"}, &BacktestPoint::tpot_error},
      {"measured_ttft_s", {kSeconds, "time to first token, as its file has it"}, measured_figure(&S::ttft_s)},
      {"predicted_ttft_s",
       {kSeconds, "mean over requests of the time from sending to the first token"},
       predicted_figure(&Prediction::ttft_s)},
      {"ttft_error", {kShare, "predicted / measured - 1"}, &BacktestPoint::ttft_error},
      {"measured_output_tokens_per_s",
       {kTokensPerS, "of all GPUs together, as its file has it"},
       measured_figure(&S::output_tokens_per_s)},
      {"predicted_output_tokens_per_s",
       {kTokensPerS, "output tokens over the time from the first request to the last token"},
       predicted_figure(&Prediction::output_tokens_per_s)},
      {"throughput_error", {kShare, "predicted / measured - 1"}, &BacktestPoint::throughput_error},
      {"memory_short",
       {kShare, "share of the GPUs' time in which a request waited for GPU memory"},
       predicted_figure(&Prediction::memory_short)},
      {"tokeniser_busy",
       {kShare, "share of the time in which the thread that turns prompts into tokens was at work"},
       predicted_figure(&Prediction::tokeniser_busy)},
      {"preemptions", {kCount, "requests that lost their KV and came again"}, [](const BacktestPoint& p) {
         return p.predicted ? std::optional(p.predicted->preemptions) : std::nullopt;
       }}};
  return fields;
}

/// Parts of the GPUs' time: a column a part of the account.
Fields<BacktestPoint> bound_fields() {
  Fields<BacktestPoint> fields;
  for (const serving::TimePartName& part : serving::kTimeParts) {
    fields.push_back({fmt::format("bound_by_{}", part.key),
                      {kShare, fmt::format("share of the GPUs' time {}", part.time)},
                      [&part](const BacktestPoint& p) {
                        return p.predicted ? std::optional((p.predicted->bound_by.*part.part).share) : std::nullopt;
                      }});
  }
  return fields;
}

const Fields<BacktestPoint>& scope_fields() {
  static const Fields<BacktestPoint> fields{
      {"out_of_scope", {kText, "why it was not simulated; empty: it was"}, &BacktestPoint::out_of_scope},
      {"detail", {kText, "the same more precisely"}, &BacktestPoint::detail}};
  return fields;
}

const Fields<BacktestPoint>& point_fields() {
  static const Fields<BacktestPoint> all = [] {
    Fields<BacktestPoint> fields = identity_fields();
    append(fields, figure_fields());
    append(fields, bound_fields());
    append(fields, scope_fields());
    return fields;
  }();
  return all;
}

/// Columns for the points with the largest errors of a figure.
Fields<BacktestPoint> worst_fields(double Prediction::*figure,
                                   std::optional<double> planner::backtest::ServingPoint::*of, PointError error) {
  using G = planner::backtest::PointGroup;
  using S = planner::backtest::ServingPoint;
  Fields<BacktestPoint> fields{{kOnPages, "model", group_word_of(&G::model), Align::left},
                               {kOnPages, "GPU", group_word_of(&G::gpu), Align::left},
                               {kOnPages, "engine", group_word_of(&G::engine), Align::left},
                               {kOnPages, "clients", point_count(&S::clients)},
                               {kOnPages, "measured", measured_figure(of), seconds},
                               {kOnPages, "predicted", predicted_figure(figure), seconds},
                               {kOnPages, "error", error, signed_percent},
                               {kOnPages, "what binds the simulated run", what_binds, Align::left},
                               {kOnPages, "point", point_word(&S::id), Align::left}};
  return fields;
}

std::vector<BacktestPoint> worst_of(const Backtest& b, std::size_t most, PointError error) {
  std::vector<BacktestPoint> points;
  for (const BacktestPoint& p : b.points) {
    if ((p.*error)()) points.push_back(p);
  }
  std::stable_sort(points.begin(), points.end(), [error](const BacktestPoint& x, const BacktestPoint& y) {
    return std::abs(*(x.*error)()) > std::abs(*(y.*error)());
  });
  points.resize(std::min(points.size(), most));
  return points;
}

// Errors of groups.

auto summary_of(ErrorSummary PointErrors::*figure) {
  return [figure](const PointErrors& e) { return (e.*figure).count == 0 ? nullptr : &(e.*figure); };
}

const Fields<PointErrors>& error_fields() {
  using F = Field<PointErrors>;
  static const Fields<PointErrors> fields{
      F::part("tpot", "errors of the time per output token; null where none was measured",
              summary_of(&PointErrors::tpot), fit_error_fields()),
      F::part("ttft", "errors of the time to first token; null where none was measured", summary_of(&PointErrors::ttft),
              fit_error_fields()),
      F::part("throughput", "errors of the output tokens per second; null where none were measured",
              summary_of(&PointErrors::throughput), fit_error_fields())};
  return fields;
}

auto errors_word(std::string planner::backtest::PointGroup::*word) {
  return [word](const GroupErrors& g) { return g.group.*word; };
}

/// Columns of a figure, on pages.
Fields<GroupErrors> summary_columns(const std::string& name, ErrorSummary PointErrors::*figure) {
  const auto value = [figure](double ErrorSummary::*statistic) {
    return [figure, statistic](const GroupErrors& g) {
      const ErrorSummary& e = g.errors.*figure;
      return e.count == 0 ? kNone : e.*statistic;
    };
  };
  return {{kOnPages, name + "\nmedian", value(&ErrorSummary::median), percent},
          {kOnPages, name + "\np90", value(&ErrorSummary::p90), percent},
          {kOnPages, name + "\nbias", value(&ErrorSummary::bias), signed_percent}};
}

const Fields<GroupErrors>& group_name_fields() {
  using G = planner::backtest::PointGroup;
  static const Fields<GroupErrors> fields{
      {"model", {kText, "name in the catalogue"}, "model", errors_word(&G::model), Align::left},
      {"gpu", {kText, "name in the catalogue"}, "GPU", errors_word(&G::gpu), Align::left},
      {"engine", {kText, "which engine served"}, "engine", errors_word(&G::engine), Align::left},
      {"precision",
       {kText, "number format of the weights, and of KV where that is not 16 bit"},
       "precision",
       errors_word(&G::precision),
       Align::left},
      {"parallelism", {kText, "how its GPUs share the work"}, "GPUs", errors_word(&G::parallelism), Align::left}};
  return fields;
}

const Fields<GroupErrors>& group_figure_fields() {
  static const Fields<GroupErrors> fields{
      {"points", {kCount, "points that were simulated"}, "points", &GroupErrors::points},
      Field<GroupErrors>::part("errors", "of |predicted / measured - 1|", &GroupErrors::errors, error_fields())};
  return fields;
}

Fields<GroupErrors> group_fields() {
  Fields<GroupErrors> fields = group_name_fields();
  append(fields, group_figure_fields());
  return fields;
}

Fields<GroupErrors> engine_fields() {
  Fields<GroupErrors> fields{group_name_fields()[2]};
  append(fields, group_figure_fields());
  return fields;
}

/// A table of groups; throughput only where there is any.
Table group_table(std::string title, Fields<GroupErrors> fields, const std::vector<GroupErrors>& groups) {
  append(fields, summary_columns("TPOT", &PointErrors::tpot));
  append(fields, summary_columns("TTFT", &PointErrors::ttft));
  const bool rates =
      std::any_of(groups.begin(), groups.end(), [](const GroupErrors& g) { return g.errors.throughput.count > 0; });
  if (rates) append(fields, summary_columns("tokens/s", &PointErrors::throughput));
  return table_of(std::move(title), fields, groups);
}

const Fields<OutOfScope>& out_of_scope_fields() {
  static const Fields<OutOfScope> fields{
      {"reason", {kText, "why kvsim does not simulate these points"}, "out of scope", &OutOfScope::reason, Align::left},
      {"points", {kCount, "points with this reason"}, "points", &OutOfScope::points},
      Field<OutOfScope>::values("first[]", {kText, "id of one of the first of them"}, &OutOfScope::first),
      {kOnPages, "such as", [](const OutOfScope& o) { return o.first.empty() ? std::string() : o.first.front(); },
       Align::left}};
  return fields;
}

/// Each once, in the order in which they come up.
std::vector<std::string> fallbacks_of(const Backtest& b) {
  std::vector<std::string> all;
  for (const BacktestPoint& p : b.points) {
    for (const std::string& fallback : p.fallbacks) add_once(all, fallback);
  }
  return all;
}

const Fields<Backtest>& backtest_fields() {
  using F = Field<Backtest>;
  static const Fields<Backtest> fields{
      F::values("files[]", {kText, "a file of points"}, &Backtest::files),
      F::values("changes[]", {kText, "a change of every scenario, as of --set"}, &Backtest::changes),
      {"points_read", {kCount, "points of the files"}, [](const Backtest& b) { return b.points.size(); }},
      {"simulated", {kCount, "points that were simulated"}, &Backtest::simulated},
      F::part("overall", "errors of all points that were simulated", &Backtest::overall, error_fields()),
      F::list("engines", "errors by engine", &Backtest::by_engine, engine_fields()),
      F::list("groups", "errors by model, GPU, engine, precision and parallelism", &Backtest::by_group, group_fields()),
      F::list("out_of_scope", "points that were not simulated, by reason", &Backtest::out_of_scope,
              out_of_scope_fields()),
      F::values("fallbacks[]", {kText, "a figure that had to be replaced, in words"}, fallbacks_of),
      F::list("recordings", "points whose requests were recorded one by one", recordings_of, recording_fields()),
      F::list("points", "every point", &Backtest::points, point_fields())};
  return fields;
}

std::string plot_of(const Backtest& b, const std::string& what,
                    std::optional<double> planner::backtest::ServingPoint::*of, double Prediction::*figure) {
  std::map<std::string, plot::Series> engines;
  for (const BacktestPoint& p : b.points) {
    const std::optional<double>& x = p.point.*of;
    if (!x || !p.predicted || !std::isfinite((*p.predicted).*figure)) continue;
    plot::Series& series = engines[p.group.engine];
    series.label = p.group.engine.empty() ? "engine not given" : p.group.engine;
    constexpr double kMs = 1e3;
    series.points.push_back({*x * kMs, (*p.predicted).*figure * kMs});
  }
  if (engines.empty()) return {};
  plot::Chart chart;
  chart.title = fmt::format("{}, predicted and measured", what);
  chart.description = fmt::format(
      "{} of every simulated point, predicted over measured, both in ms on logarithmic axes. On the line the two are "
      "equal, above it the prediction is too slow.",
      what);
  chart.x_title = "measured, ms";
  chart.y_title = "predicted, ms";
  chart.x_scale = chart.y_scale = plot::ScaleKind::logarithmic;
  chart.shape = plot::Shape::points;
  chart.diagonal = true;
  for (auto& [engine, series] : engines) chart.series.push_back(std::move(series));
  return plot::to_svg_file(chart, fmt::format("{} of {}", counted(b.simulated(), "point"), fmt::join(b.files, ", ")));
}

}  // namespace

Page backtest_page(const Backtest& b, std::size_t worst) {
  Page page;
  page.title = fmt::format("Backtest: {} of {} of {}", whole(b.simulated()), counted(b.points.size(), "point"),
                           fmt::join(b.files, ", "));
  page.subtitle = {
      "TPOT is the mean over requests of (last token - first token) / (output tokens - 1), TTFT the mean over requests "
      "of the time from sending to the first token; what was measured is taken as it stands.",
      "Errors are |predicted / measured - 1|; bias is the median of predicted / measured - 1."};
  if (!b.changes.empty()) {
    page.subtitle.push_back(fmt::format("Every scenario was changed: {}.", fmt::join(b.changes, ", ")));
  }
  const std::vector<GroupErrors> all{{{}, b.simulated(), b.overall()}};
  const Fields<GroupErrors> points{group_figure_fields().front()};
  Fields<GroupErrors> names = group_name_fields();
  append(names, points);
  Fields<GroupErrors> engine{group_name_fields()[2]};
  append(engine, points);
  if (b.simulated() > 0) {
    page.tables = {group_table("Errors by group", names, b.by_group()),
                   group_table("Errors by engine", engine, b.by_engine()), group_table("Errors overall", points, all)};
  }
  add_recordings(b, page.tables);
  using S = planner::backtest::ServingPoint;
  const auto largest = [&](const char* title, double Prediction::*figure, std::optional<double> S::*of,
                           PointError error) {
    const std::vector<BacktestPoint> rows = worst_of(b, worst, error);
    if (!rows.empty()) page.tables.push_back(table_of(title, worst_fields(figure, of, error), rows));
  };
  largest("Largest errors of TPOT", &Prediction::tpot_s, &S::tpot_s, &BacktestPoint::tpot_error);
  largest("Largest errors of TTFT", &Prediction::ttft_s, &S::ttft_s, &BacktestPoint::ttft_error);
  const std::vector<OutOfScope> outside = b.out_of_scope();
  if (!outside.empty()) page.tables.push_back(table_of("Points out of scope", out_of_scope_fields(), outside));
  page.lists = {{"Stated errors", coverage_words(stated_errors_of(b))}, {"Replaced figures", fallbacks_of(b)}};
  return page;
}

Json backtest_json(const Backtest& b) {
  Json unread = Json::object();
  return filled(document_head(unread), backtest_fields(), b).take();
}

KeyList backtest_keys() {
  return head_keys(keys_of(backtest_fields()));
}

std::string backtest_csv(const Backtest& b) {
  return csv(point_fields(), b.points);
}

std::vector<std::pair<std::string, std::string>> backtest_plots(const Backtest& b) {
  using S = planner::backtest::ServingPoint;
  std::vector<std::pair<std::string, std::string>> plots{
      {"tpot.svg", plot_of(b, "Time per output token", &S::tpot_s, &Prediction::tpot_s)},
      {"ttft.svg", plot_of(b, "Time to first token", &S::ttft_s, &Prediction::ttft_s)}};
  std::erase_if(plots, [](const auto& plot) { return plot.second.empty(); });
  return plots;
}

}  // namespace kvsim::results
