#include "tools/results/backtest_recordings.h"

#include <functional>
#include <utility>

#include "tools/results/numbers.h"

namespace kvsim::results {
namespace {

using planner::backtest::Backtest;
using planner::backtest::BacktestPoint;
using planner::backtest::CurveBeside;
using planner::backtest::LatencyBeside;
using planner::backtest::LoadBeside;

std::vector<CurveBeside> curves_of(const BacktestPoint& p) {
  return planner::backtest::curves_beside(p.replayed->load);
}

auto within(double share) {
  return [share](const CurveBeside& c) { return c.within(share); };
}
constexpr double kClose = 0.03, kNear = 0.1;

const Fields<LatencyBeside>& latency_fields() {
  static const Fields<LatencyBeside> fields{
      {"figure",
       {kText, "ttft, tpot (of requests with two tokens or more) or e2e, since the request was sent"},
       &LatencyBeside::latency},
      {"statistic", {kText, "over requests: mean, p50, p90, p99"}, &LatencyBeside::statistic},
      {"measured_s", {kSeconds, "of the recording"}, &LatencyBeside::measured_s},
      {"predicted_s", {kSeconds, "of its replay"}, &LatencyBeside::predicted_s},
      {"error", {kShare, "predicted / measured - 1"}, &LatencyBeside::error}};
  return fields;
}

const Fields<CurveBeside>& curve_fields() {
  static const Fields<CurveBeside> fields{
      {"curve", {kText, "running, waiting (requests) or kv (memory in use, percent)"}, &CurveBeside::curve},
      {"peak", {kCount, "largest recorded value"}, &CurveBeside::peak},
      {"difference",
       {kShare, "mean over the recorded moments of |predicted - measured|, of the peak"},
       &CurveBeside::difference},
      {"within_3_percent",
       {kShare, "of the recorded moments in which the two are within 0.03 of the peak"},
       within(kClose)},
      {"within_10_percent",
       {kShare, "of the recorded moments in which the two are within 0.1 of the peak"},
       within(kNear)}};
  return fields;
}

/// A line of a table: something of one recording.
template <class Row>
struct OfRecording {
  std::string id;
  Row row;
};

template <class Row, class Get>
auto of_row(Get get) {
  return [get](const OfRecording<Row>& r) { return std::invoke(get, r.row); };
}

/// Recorded and simulated load, moment by moment.
std::vector<OfRecording<LoadBeside>> load_rows(const Backtest& b) {
  std::vector<OfRecording<LoadBeside>> rows;
  for (const BacktestPoint& p : b.points) {
    if (!p.replayed) continue;
    for (const LoadBeside& l : p.replayed->load) rows.push_back({p.point.id, l});
  }
  return rows;
}

const Fields<OfRecording<LoadBeside>>& load_fields() {
  using Row = OfRecording<LoadBeside>;
  const auto half = [](LoadBeside::Pair LoadBeside::*pair, double LoadBeside::Pair::*of) {
    return [pair, of](const Row& r) { return r.row.*pair.*of; };
  };
  using P = LoadBeside::Pair;
  static const Fields<Row> fields{
      {"id", {kText, "the recording"}, &Row::id},
      {"at_s", {kSeconds, "since the replay's start"}, [](const Row& r) { return r.row.at_s; }},
      {"measured_running", {kRequests, "requests running"}, half(&LoadBeside::running, &P::measured)},
      {"predicted_running", {kRequests, "requests running"}, half(&LoadBeside::running, &P::predicted)},
      {"measured_waiting", {kRequests, "requests waiting"}, half(&LoadBeside::waiting, &P::measured)},
      {"predicted_waiting", {kRequests, "requests waiting"}, half(&LoadBeside::waiting, &P::predicted)},
      {"measured_kv_percent", {kCount, "KV memory in use"}, half(&LoadBeside::kv_percent, &P::measured)},
      {"predicted_kv_percent", {kCount, "KV memory in use"}, half(&LoadBeside::kv_percent, &P::predicted)}};
  return fields;
}

}  // namespace

std::vector<BacktestPoint> recordings_of(const Backtest& b) {
  std::vector<BacktestPoint> recordings;
  for (const BacktestPoint& p : b.points) {
    if (p.replayed) recordings.push_back(p);
  }
  return recordings;
}

const Fields<BacktestPoint>& recording_fields() {
  using F = Field<BacktestPoint>;
  static const Fields<BacktestPoint> fields{
      {"id", {kText, "the point that it is"}, [](const BacktestPoint& p) { return p.point.id; }},
      {"requests", {kRequests, "recorded"}, [](const BacktestPoint& p) { return p.point.recording->requests; }},
      F::list(
          "latencies", "statistics of latencies over requests",
          [](const BacktestPoint& p) { return p.replayed->latencies; }, latency_fields()),
      F::list("curves", "load over time, as far as it was recorded", curves_of, curve_fields())};
  return fields;
}

void add_recordings(const Backtest& b, std::vector<Table>& tables) {
  std::vector<OfRecording<LatencyBeside>> latencies;
  std::vector<OfRecording<CurveBeside>> curves;
  for (const BacktestPoint& p : recordings_of(b)) {
    for (const LatencyBeside& l : p.replayed->latencies) latencies.push_back({p.point.id, l});
    for (CurveBeside& c : curves_of(p)) curves.push_back({p.point.id, std::move(c)});
  }
  using L = OfRecording<LatencyBeside>;
  const Fields<L> of_latency{{kOnPages, "recording", &L::id, Align::left},
                             {kOnPages, "figure", of_row<LatencyBeside>(&LatencyBeside::latency), Align::left},
                             {kOnPages, "over requests", of_row<LatencyBeside>(&LatencyBeside::statistic), Align::left},
                             {kOnPages, "measured", of_row<LatencyBeside>(&LatencyBeside::measured_s), seconds},
                             {kOnPages, "predicted", of_row<LatencyBeside>(&LatencyBeside::predicted_s), seconds},
                             {kOnPages, "error", of_row<LatencyBeside>(&LatencyBeside::error), signed_percent}};
  using C = OfRecording<CurveBeside>;
  const Fields<C> of_curve{
      {kOnPages, "recording", &C::id, Align::left},
      {kOnPages, "curve", of_row<CurveBeside>(&CurveBeside::curve), Align::left},
      {kOnPages, "peak", of_row<CurveBeside>(&CurveBeside::peak)},
      {kOnPages, "mean difference\nof peak", of_row<CurveBeside>(&CurveBeside::difference), percent},
      {kOnPages, "moments within\n3 % of peak", of_row<CurveBeside>(within(kClose)), percent},
      {kOnPages, "moments within\n10 % of peak", of_row<CurveBeside>(within(kNear)), percent}};
  if (!latencies.empty()) tables.push_back(table_of("Recordings: latencies", of_latency, latencies));
  if (!curves.empty()) tables.push_back(table_of("Recordings: load over time", of_curve, curves));
}

std::string backtest_load_csv(const Backtest& b) {
  const auto rows = load_rows(b);
  return rows.empty() ? std::string() : csv(load_fields(), rows);
}

}  // namespace kvsim::results
