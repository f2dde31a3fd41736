// Measurements of several runs added up.
#include <gtest/gtest.h>

#include <set>

#include "sim/serving/measurement_fields.h"
#include "sim/systems/systems.h"
#include "tests/scenario/key_rows.h"
#include "tests/scenario/summary.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using serving::Measurements;
using serving::merge;

/// A different value in every field.
struct Fill {
  double next;

  /// Half of what a small integer holds at most, so that the sum of two fits.
  template <class T>
  T small() {
    if constexpr (sizeof(T) == 1) return static_cast<T>(static_cast<int>(next++) % 100);
    return static_cast<T>(next++);
  }

  template <class T>
  void operator()(T& value) {
    if constexpr (serving::Measured<T>) {
      serving::for_each_field<T>([&](const auto& f) { (*this)(value.*f.member); });
    } else {
      value = small<T>();
    }
  }
  void operator()(engine::Sample& sample) { sample.add(next++); }
  template <class T>
  void operator()(std::vector<T>& list) {
    list = {small<T>()};
  }
  template <class T>
  void operator()(std::map<std::string, T>& map) {
    (*this)(map["both"]);
  }
  template <class T, std::size_t n>
  void operator()(std::array<T, n>& all) {
    for (T& each : all) (*this)(each);
  }
};

template <class M>
void expect_merged(const M& sum, const M& a, const M& b);

template <class T>
void expect_added(const char* name, const T& sum, const T& a, const T& b) {
  if constexpr (serving::Measured<T>) {
    expect_merged(sum, a, b);
  } else {
    EXPECT_EQ(sum, a + b) << name;
  }
}

void expect_added(const char* name, const engine::Sample& sum, const engine::Sample& a, const engine::Sample& b) {
  EXPECT_EQ(sum.count(), a.count() + b.count()) << name;
  EXPECT_EQ(sum.min(), a.min()) << name;
  EXPECT_EQ(sum.max(), b.max()) << name;
}

void expect_added(const char* name, const std::vector<serving::Verdict>& sum, const std::vector<serving::Verdict>& a,
                  const std::vector<serving::Verdict>& b) {
  EXPECT_EQ(sum, (std::vector<serving::Verdict>{a.front(), b.front()})) << name;
}

void expect_added(const char* name, const std::vector<std::uint64_t>& sum, const std::vector<std::uint64_t>& a,
                  const std::vector<std::uint64_t>& b) {
  EXPECT_EQ(sum, std::vector<std::uint64_t>{a.front() + b.front()}) << name;
}

template <class T>
void expect_added(const char* name, const std::map<std::string, T>& sum, const std::map<std::string, T>& a,
                  const std::map<std::string, T>& b) {
  expect_added(name, sum.at("both"), a.at("both"), b.at("both"));
}

template <class T, std::size_t n>
void expect_added(const char* name, const std::array<T, n>& sum, const std::array<T, n>& a, const std::array<T, n>& b) {
  for (std::size_t i = 0; i < n; ++i) expect_added(name, sum[i], a[i], b[i]);
}

template <class M, class T, serving::Merge how>
void expect_field(const M& sum, const M& a, const M& b, serving::Field<M, T, how> f) {
  using serving::Merge;
  if constexpr (how == Merge::join) expect_added(f.name, sum.*f.member, a.*f.member, b.*f.member);
  if constexpr (how == Merge::largest) {
    EXPECT_EQ(sum.*f.member, b.*f.member) << f.name;
  }
  if constexpr (how == Merge::mean) {
    const double weight = a.capacity_s + b.capacity_s;
    EXPECT_DOUBLE_EQ(sum.*f.member, (a.*f.member * a.capacity_s + b.*f.member * b.capacity_s) / weight) << f.name;
  }
}

template <class M>
void expect_merged(const M& sum, const M& a, const M& b) {
  std::set<const void*> members;
  std::size_t count = 0;
  serving::for_each_field<M>([&](const auto& f) {
    expect_field(sum, a, b, f);
    members.insert(&(sum.*f.member));
    ++count;
  });
  EXPECT_EQ(members.size(), count) << "a member is listed twice";
}

// for_each_field compiles only if as many are listed as there are; none twice: none is left out.
TEST(Merge, EveryFieldAsItsRuleSays) {
  Measurements a, b;
  Fill{1}(a);
  Fill{1000}(b);
  Measurements sum = a;
  merge(sum, b);
  expect_merged(sum, a, b);
  EXPECT_EQ(sum.tokens_by_slice.tokens, a.tokens_by_slice.tokens);
}

TEST(Merge, IntoNothingIsTheRunItself) {
  const auto s = small_scenario({"workload.requests=20", "cluster.replicas=2"});
  Measurements m = systems::simulate(s.serving, *make_feed(s, s.serving.run.seed)).measured;
  Measurements sum;
  merge(sum, m);
  m.tokens_by_slice = {};  // of one run alone: its batch means are taken before runs are added up
  EXPECT_EQ(summary(sum), summary(m));
}

TEST(Merge, AddsCountsTimesAndSamplesAndKeepsTheLargestPeaks) {
  const Measurements a = measure_with({"workload.requests=20"});
  const Measurements b = measure_with({"workload.requests=30", "run.seed=2", "workload.closed.concurrency=4"});
  Measurements sum = a;
  merge(sum, b);
  EXPECT_EQ(sum.arrived, 50U);
  EXPECT_EQ(sum.completed, 50U);
  EXPECT_EQ(sum.output_tokens, 50 * 200);
  EXPECT_EQ(sum.prompt_tokens, 50 * 16000);
  EXPECT_DOUBLE_EQ(sum.measured_s, a.measured_s + b.measured_s);
  EXPECT_EQ(sum.e2e_s.count(), 50U);
  for (const auto sample : {&Measurements::ttft_s, &Measurements::tpot_s, &Measurements::e2e_s, &Measurements::itl_s,
                            &Measurements::round_gap_s, &Measurements::iteration_s}) {
    EXPECT_GT((a.*sample).count(), 0U);
    EXPECT_EQ((sum.*sample).count(), (a.*sample).count() + (b.*sample).count());
  }
  EXPECT_DOUBLE_EQ(sum.ttft_s.max(), std::max(a.ttft_s.max(), b.ttft_s.max()));
  EXPECT_EQ(sum.hbm_peak_bytes, std::max(a.hbm_peak_bytes, b.hbm_peak_bytes));
  EXPECT_EQ(sum.tiers.at("host").bytes_peak, std::max(a.tiers.at("host").bytes_peak, b.tiers.at("host").bytes_peak));
  EXPECT_EQ(sum.tiers.at("host").hits, 50U);
  for (const char* link : {"host_to_gpu", "gpu_to_host"}) {
    EXPECT_EQ(sum.links.at(link).bytes, a.links.at(link).bytes + b.links.at(link).bytes);
    EXPECT_EQ(sum.links.at(link).transfers, a.links.at(link).transfers + b.links.at(link).transfers);
    EXPECT_DOUBLE_EQ(sum.links.at(link).busy_s, a.links.at(link).busy_s + b.links.at(link).busy_s);
  }
}

TEST(Merge, AddsUpWhatPromptsWereMadeOfAndWhatTheirAnswersScored) {
  const auto run = [](const char* seed) {
    return measure(small_scenario(blended({seed, "prefill.speculative.gpus=1", "slo={quality_floor: 0.9}"})));
  };
  const Measurements a = run("run.seed=1"), b = run("run.seed=2");
  Measurements sum = a;
  merge(sum, b);
  EXPECT_EQ(sum.reuse.prompts, 120U);
  EXPECT_EQ(sum.reuse.chunk_tokens, 120 * 4 * 512);
  EXPECT_EQ(sum.reuse.other_tokens, 120 * 64);
  EXPECT_EQ(sum.reuse.loaded_tokens + sum.reuse.apart_tokens, sum.reuse.chunk_tokens);
  for (const auto tokens : {&serving::ReuseMeasurement::loaded_tokens, &serving::ReuseMeasurement::apart_tokens,
                            &serving::ReuseMeasurement::recomputed_tokens}) {
    EXPECT_GT(a.reuse.*tokens, 0);
    EXPECT_EQ(sum.reuse.*tokens, a.reuse.*tokens + b.reuse.*tokens);
  }
  for (const auto time : {&serving::ReuseMeasurement::queue_s, &serving::ReuseMeasurement::load_s,
                          &serving::ReuseMeasurement::select_s, &serving::ReuseMeasurement::assemble_s,
                          &serving::ReuseMeasurement::prefill_s, &serving::ReuseMeasurement::scorers_busy_s}) {
    EXPECT_DOUBLE_EQ(sum.reuse.*time, a.reuse.*time + b.reuse.*time);
  }
  EXPECT_GT(a.reuse.scorers_busy_s, 0);
  EXPECT_GT(a.reuse.selections_longer, 0U);
  EXPECT_EQ(sum.reuse.selections_longer, a.reuse.selections_longer + b.reuse.selections_longer);
  EXPECT_EQ(sum.answers.answers, 120U);
  EXPECT_DOUBLE_EQ(sum.answers.score, a.answers.score + b.answers.score);
  EXPECT_DOUBLE_EQ(sum.answers.full_score, a.answers.full_score + b.answers.full_score);
  EXPECT_GT(a.answers.good, 0U);
  EXPECT_LT(a.answers.good, 60U);
  EXPECT_EQ(sum.answers.good, a.answers.good + b.answers.good);
  EXPECT_EQ(sum.good, a.good + b.good);
}

TEST(Merge, KeepsTheConservationLaws) {
  Measurements sum;
  for (const char* seed : {"run.seed=1", "run.seed=2", "run.seed=3"}) {
    merge(sum, measure_with({seed, "run.duration=3 s"}));
  }
  EXPECT_EQ(sum.arrived, sum.completed + sum.refused + sum.running);
  EXPECT_EQ(sum.drafted_tokens, sum.accepted_tokens + sum.rejected_tokens);
  const double parts = sum.busy_s + sum.link_bound_s + sum.front_end_s + sum.idle_s;
  EXPECT_NEAR(parts, sum.capacity_s, 1e-9 * sum.capacity_s);
  EXPECT_EQ(sum.completed_measured, sum.e2e_s.count());
}

TEST(Merge, WeighsMeanMemoryByTime) {
  Measurements a, b;
  a.capacity_s = 1;
  a.hbm_mean_bytes = 100;
  b.capacity_s = 3;
  b.hbm_mean_bytes = 200;
  merge(a, b);
  EXPECT_DOUBLE_EQ(a.hbm_mean_bytes, 175);
  EXPECT_DOUBLE_EQ(a.capacity_s, 4);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
