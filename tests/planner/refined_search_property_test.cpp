// The search on cycles as scenarios make them: measured GPU times of any shape, first loads, whole iterations.
#include <algorithm>
#include <tuple>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "planner/closed_form/search.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

std::int64_t pick(std::int64_t low, std::int64_t high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(low, high + 1));
}

double share() {
  return static_cast<double>(pick(0, 1000)) / 1000;
}

Cycle random_cycle(std::int64_t x) {
  constexpr double kv = 10;
  Cycle cycle;
  cycle.x = x;
  cycle.c = static_cast<double>(pick(1, 19)) / 20;
  cycle.tokens = 0.3 + 0.7 * share();
  cycle.room_bytes = kv * (0.2 + 8 * share());
  cycle.resident_bytes = kv;
  cycle.compressed_bytes = cycle.c * kv;
  cycle.streaming_bytes = (1 - cycle.c) * kv;
  cycle.average_bytes = cycle.compressed_bytes + cycle.streaming_bytes / static_cast<double>(x + 1);
  cycle.reload_s = 3 * share();
  if (pick(0, 1) == 1) {
    cycle.gpu = GpuTime::linear(0.1 + share(), 0.05 * share());
  } else {  // not even monotone
    std::vector<double> seconds{0.0};
    for (std::int64_t n = pick(5, 30); n > 0; --n) seconds.push_back(0.5 + share());
    cycle.gpu = GpuTime::table(std::move(seconds));
  }
  if (pick(0, 1) == 1) {
    cycle.other_per_offloaded_s = 0.05 * share();
    cycle.other_per_resident_s = 0.1 * share();
    cycle.back_per_offloaded_s = 0.1 * share();
  }
  cycle.whole_iterations = pick(0, 1) == 1;
  cycle.slack = pick(0, 2);
  if (cycle.whole_iterations && pick(0, 1) == 1) {
    cycle.largest_stream_bytes = {0.0, kv, 1.5 * kv, 2 * kv};
  }
  return cycle;
}

RC_GTEST_PROP(RefinedSearchProperty, EqualsTryingEveryBatch, ()) {
  const TransferModel model =
      *rc::gen::element(TransferModel::published, TransferModel::conserving, TransferModel::rings);
  std::vector<Cycle> cycles;
  for (std::int64_t n = pick(1, 3); n > 0; --n) cycles.push_back(random_cycle(pick(0, 9)));
  BatchLimits limits;
  if (pick(0, 1) == 1) limits = {pick(1, 20), pick(0, 20)};

  double best = 0;
  std::vector<OperatingPoint> all;
  for (const Cycle& cycle : cycles) {
    const auto most = static_cast<std::int64_t>(cycle.room_bytes / std::min(cycle.compressed_bytes, 10.0)) + 1;
    for (std::int64_t B_c = 0; B_c <= most; ++B_c) {
      for (std::int64_t B_g = 0; B_g <= 10; ++B_g) {
        for (std::int64_t l = 1; l <= (model == TransferModel::published ? cycle.x + 1 : 1); ++l) {
          const auto point = evaluate(model, cycle, limits, {B_c, B_g, l});
          if (!point) continue;
          all.push_back(*point);
          best = std::max(best, point->throughput_tokens_per_s);
        }
      }
    }
  }
  const SearchResult found = search(model, cycles, limits);
  RC_ASSERT(found.optimum.has_value() == !all.empty());
  if (all.empty()) return;
  const auto key = [](const OperatingPoint& p) {
    return std::make_tuple(p.x, -p.c, p.d_e, p.batch.B_c, p.batch.B_g, p.batch.l);
  };
  const OperatingPoint* expected = nullptr;
  for (const OperatingPoint& point : all) {
    if (point.throughput_tokens_per_s < best * (1 - kTieShare)) continue;
    if (!expected || key(point) < key(*expected)) expected = &point;
  }
  RC_ASSERT(key(*found.optimum) == key(*expected));
  RC_ASSERT(found.optimum->throughput_tokens_per_s == expected->throughput_tokens_per_s);
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
