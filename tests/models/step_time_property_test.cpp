// Whatever the step: more of any resource never takes longer, more work never less.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>

#include "models/catalogue/catalogue.h"
#include "models/kernels/step_account.h"
#include "models/kernels/step_time.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

struct Machine {
  GpuSpec gpu;
  LinkSpec peer;
  KernelProfile profile;
  LlmSpec model;
  std::int64_t gpus = 1;
  [[nodiscard]] double seconds(const StepWork& w) const {
    return StepTimer(gpu, peer, profile, model, gpus).time(w).total_s;
  }
};

const Catalogue& catalogue() {
  static const Catalogue built_in = Catalogue::built_in();
  return built_in;
}

template <class Kind>
std::string any_name(Kind kind) {
  const auto lines = catalogue().list(kind);
  return lines[*rc::gen::inRange<std::size_t>(0, lines.size())].name;
}

Machine any_machine() {
  Machine m;
  m.gpu = catalogue().gpu(any_name(EntryKind::gpu));
  m.peer = catalogue().link(m.gpu.peer_link);
  m.profile = catalogue().profile(any_name(EntryKind::profile));
  m.model = catalogue().model(any_name(EntryKind::model));
  m.gpus = *rc::gen::element<std::int64_t>(1, 2, 4, 8);
  return m;
}

AttentionWork any_attention(int most_queries) {
  const double queries = *rc::gen::inRange(0, most_queries);
  const double keys = *rc::gen::inRange(1, 100'000);
  return {queries, keys * *rc::gen::inRange(1, 500'000), queries * keys};
}

StepWork any_work() {
  StepWork w;
  w.decode = any_attention(256);
  w.verify = any_attention(1024);
  w.prefill = any_attention(4096);
  w.logit_tokens = *rc::gen::inRange(0, 1024);
  w.extra_gpu_s = *rc::gen::inRange(0, 100) * 1e-4;
  return w;
}

double any_factor() {
  return 1.0 + *rc::gen::inRange(0, 1000) / 100.0;
}

RC_GTEST_PROP(StepTimeProperty, MoreOfAnyResourceNeverTakesLonger, ()) {
  const Machine before = any_machine();
  const StepWork work = any_work();
  const double factor = any_factor();
  const std::vector<std::function<void(Machine&)>> improvements = {
      [&](Machine& m) { m.gpu.memory_bytes_per_s.value *= factor; },
      [&](Machine& m) { m.gpu.bf16_flops_per_s.value *= factor, m.gpu.fp8_flops_per_s.value *= factor; },
      [&](Machine& m) { m.peer.read_bytes_per_s.value *= factor; },
      [&](Machine& m) { m.peer.latency_s.value /= factor; },
      [&](Machine& m) { m.profile.linear_t0_s.value /= factor; },
      [&](Machine& m) { m.profile.attention_t0_s.value /= factor; },
      [&](Machine& m) { m.profile.iteration_overhead_s.value /= factor; },
      [&](Machine& m) { m.profile.linear_bandwidth_efficiency.value *= factor; },
      [&](Machine& m) { m.profile.attention_bandwidth_efficiency.value *= factor; },
  };
  for (const auto& improve : improvements) {
    Machine after = before;
    improve(after);
    RC_ASSERT(after.seconds(work) <= before.seconds(work) * (1 + 1e-12));
  }
}

RC_GTEST_PROP(StepTimeProperty, MoreWorkNeverTakesLess, ()) {
  const Machine machine = any_machine();
  const StepWork before = any_work();
  const double factor = any_factor();
  const std::vector<std::function<void(StepWork&)>> additions = {
      [&](StepWork& w) { w.decode.kv_bytes *= factor; },
      [&](StepWork& w) { w.verify.kv_bytes *= factor; },
      [&](StepWork& w) { w.prefill.kv_bytes *= factor; },
      [&](StepWork& w) { w.logit_tokens += factor; },
      [&](StepWork& w) { w.extra_gpu_s += factor * 1e-3; },
      // More requests of the same kind: tokens, bytes and pairs grow together.
      [&](StepWork& w) {
        w.decode = {w.decode.query_tokens * factor, w.decode.kv_bytes * factor, w.decode.pairs * factor};
      },
  };
  for (const auto& add : additions) {
    StepWork after = before;
    add(after);
    RC_ASSERT(machine.seconds(after) >= machine.seconds(before) * (1 - 1e-12));
  }
}

RC_GTEST_PROP(StepTimeProperty, LongerContextsNeverTakeLess, ()) {
  // Pairs and bytes grow together with the length of what is attended to.
  const Machine machine = any_machine();
  StepWork before;
  before.verify = any_attention(1024);
  // Short contexts too, of as many bytes as they have: there a correction that falls could show.
  if (*rc::gen::arbitrary<bool>() && before.verify.query_tokens > 0) {
    const double keys = *rc::gen::inRange(1, 2000);
    before.verify.pairs = before.verify.query_tokens * keys;
    before.verify.kv_bytes = before.verify.pairs * static_cast<double>(machine.model.kv_bytes_per_token());
  }
  StepWork after = before;
  const double factor = *rc::gen::arbitrary<bool>() ? any_factor() : 1.0 + *rc::gen::inRange(0, 100) / 1000.0;
  after.verify.kv_bytes *= factor;
  after.verify.pairs *= factor;
  RC_ASSERT(machine.seconds(after) >= machine.seconds(before) * (1 - 1e-12));
}

/// Of a launch of one query token for each of so many requests, with this share of the KV's bytes.
AttentionWork one_token_each(const LlmSpec& model, double requests, double keys, double share) {
  return {requests, requests * keys * share * static_cast<double>(model.kv_bytes_per_token()), requests * keys};
}

// Full KV is timed from lengths that lie 32 tokens apart, also where its bytes are rounded.
TEST(DecodeAttention, OfFullKvDoesNotDependOnHowItsBytesAreRounded) {
  const GpuSpec gpu = catalogue().gpu("b200");
  const LlmSpec model = catalogue().model("gemma-3-12b");
  const StepTimer timer(gpu, catalogue().link(gpu.peer_link), catalogue().profile("b200-vllm"), model, 8);
  StepWork work, rounded;
  work.decode = rounded.decode = one_token_each(model, 51, 17, 1);
  rounded.decode.kv_bytes = std::nextafter(work.decode.kv_bytes, 0);
  EXPECT_NEAR(timer.time(rounded).attention_s / timer.time(work).attention_s, 1, 1e-12);
}

RC_GTEST_PROP(StepTimeProperty, PartsAddUpAndNoneIsNegative, ()) {
  const Machine m = any_machine();
  const StepTime t = StepTimer(m.gpu, m.peer, m.profile, m.model, m.gpus).time(any_work());
  for (const double part : {t.linear_s, t.attention_s, t.collectives_s, t.overhead_s, t.hbm_bound_s}) {
    RC_ASSERT(part >= 0);
  }
  RC_ASSERT(std::abs(t.linear_s + t.attention_s + t.collectives_s + t.overhead_s - t.total_s) <= 1e-12 * t.total_s);
  RC_ASSERT(t.hbm_bound_s <= (t.linear_s + t.attention_s) * (1 + 1e-12));
}

/// The number with so many binary digits behind its first one.
double shortened(double number, unsigned digits) {
  int exponent = 0;
  const double mantissa = std::frexp(number, &exponent);
  return std::ldexp(std::floor(std::ldexp(mantissa, static_cast<int>(digits) + 1)),
                    exponent - static_cast<int>(digits) - 1);
}

/// A step of sizes that accounts do not round.
StepWork any_unrounded_work() {
  StepWork w = any_work();
  for (AttentionWork* each : {&w.decode, &w.verify, &w.prefill}) {
    each->query_tokens = shortened(each->query_tokens, 4);
    each->kv_bytes = shortened(each->kv_bytes, 2);
    each->pairs = shortened(each->pairs, 2);
  }
  w.logit_tokens = shortened(w.logit_tokens, 2);
  w.extra_gpu_s = shortened(w.extra_gpu_s, 2);
  return w;
}

RC_GTEST_PROP(StepTimeProperty, AnAccountSharesOutTheStepAndSaysWhatTwiceOfEachResourceSaves, ()) {
  const Machine m = any_machine();
  const StepWork work = any_unrounded_work();
  const StepTimer timer(m.gpu, m.peer, m.profile, m.model, m.gpus);
  const StepAccount a = StepAccounts(timer).of(work);
  double sum = 0;
  for (std::size_t i = 0; i < kResources; ++i) {
    RC_ASSERT(a.bound[i] >= 0 && a.saved[i] >= 0);
    RC_ASSERT(a.saved[i] <= 0.5 + 1e-9);
    sum += a.bound[i];
  }
  RC_ASSERT(sum <= 1 + 1e-12);
  const double now_s = m.seconds(work);
  if (now_s <= 0) return;
  // Accounts use a coarse grid of tokens, which a step beside the edge of a tile may lie off.
  const auto on_grid = [&](const Machine& machine) {
    const double coarse_s = StepTimer(machine.gpu, machine.peer, machine.profile, machine.model, machine.gpus)
                                .coarse(1, 1)
                                .time(work)
                                .total_s;
    return std::abs(coarse_s / machine.seconds(work) - 1) <= 0.005;
  };
  if (!on_grid(m)) return;
  const std::vector<std::pair<Resource, std::function<void(Machine&)>>> twice = {
      {Resource::hbm_bandwidth, [](Machine& t) { t.gpu.memory_bytes_per_s.value *= 2; }},
      {Resource::compute,
       [](Machine& t) {
         for (Sourced<double>* rate : {&t.gpu.bf16_flops_per_s, &t.gpu.fp8_flops_per_s, &t.gpu.fp4_flops_per_s})
           rate->value *= 2;
       }},
      {Resource::host, [](Machine& t) { t.profile.iteration_overhead_s.value /= 2; }},
      {Resource::launches, [](Machine& t) {
         t.profile.launch.kernel_s.value /= 2;
         t.profile.launch.graph_s.value /= 2;
       }}};
  const double streamed =
      work.extra_gpu_s / 2 / now_s;  // of the kernels beside the pass, which timers know no bytes of
  for (const auto& [resource, change] : twice) {
    Machine after = m;
    change(after);
    const double beside = resource == Resource::hbm_bandwidth ? streamed : 0;
    if (!on_grid(after)) continue;
    const double saved = std::min(1 - after.seconds(work) / now_s + beside, 0.5);      // other kernels may save more
    RC_ASSERT(std::abs(a.saved[static_cast<std::size_t>(resource)] - saved) <= 0.02);  // their sum may lie in between
  }
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
