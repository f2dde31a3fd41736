// A step with more to do is never done sooner: more tokens of prompts, more requests, more drafts, longer contexts,
// over models, machines, engines and ways to share them. What engines switch by size must not make a larger step
// shorter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "models/catalogue/catalogue.h"
#include "models/kernels/engine_kernels.h"
#include "models/kernels/step_time.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

constexpr double kMostFall = 0.01;

const Catalogue& catalogue() {
  static const Catalogue built_in = Catalogue::built_in();
  return built_in;
}

std::vector<std::string> names(EntryKind kind) {
  std::vector<std::string> all;
  for (const auto& line : catalogue().list(kind)) all.push_back(line.name);
  return all;
}

/// A step of requests that are alike in each of its parts.
class Step {
 public:
  explicit Step(const LlmSpec& model)
      : window_(model.window), token_bytes_(static_cast<double>(model.kv_bytes_per_token())) {}
  Step& decode(double requests, double context) { return add(work_.decode, requests, context - 1, 1); }
  Step& verify(double requests, double context, double drafts) {
    return add(work_.verify, requests, context, drafts + 1);
  }
  Step& chunk(double tokens, double before, int alike = 1) {
    for (int i = 0; i < alike && tokens > 0; ++i) {
      add(work_.prefill, 1, before, tokens);
      work_.logit_tokens -= tokens - 1;
      work_.chunks.push_back({.tokens = tokens, .before = before});
    }
    return *this;
  }
  [[nodiscard]] const StepWork& work() const { return work_; }

 private:
  Step& add(AttentionWork& to, double requests, double before, double queries) {
    AttentionWork one{.query_tokens = queries,
                      .kv_bytes = (before + queries) * token_bytes_,
                      .pairs = queries * (before + (queries + 1) / 2),
                      .requests = 1};
    leave_out(one, window_, before, queries);
    to.add(one, requests);
    to.longest_kv = std::max(to.longest_kv, before + queries);
    work_.logit_tokens += requests * queries;
    return *this;
  }

  WindowLayers window_;
  double token_bytes_;
  StepWork work_;
};

/// The result of `read` for a key, read once: entries of the catalogue take longer to read than their steps to time.
template <class Key, class Read>
const auto& read_once(const Key& key, const Read& read) {
  static std::map<Key, decltype(read(key))> known;
  const auto found = known.find(key);
  return found != known.end() ? found->second : known.emplace(key, read(key)).first->second;
}

/// Up to where, and how closely, sizes lie: all up to `dense`, then by this factor.
using Range = std::tuple<double, double, double>;

/// Whole numbers of a range, and what lies around powers of two and their halves, multiprocessors of all GPUs, and what
/// engines switch at.
std::vector<double> sizes_of(const Range& range) {
  const auto& [to, dense, factor] = range;
  std::set<double> all;
  for (double n = 1; n <= std::min(dense, to); ++n) all.insert(n);
  for (double n = dense; n <= to; n *= factor) all.insert(std::floor(n));
  std::vector<double> switches;
  for (double n = 1; n <= to; n *= 2) switches.insert(switches.end(), {n, 1.5 * n, 3 * 16384 / n});
  for (const std::string& gpu : names(EntryKind::gpu)) {
    switches.push_back(static_cast<double>(catalogue().gpu(gpu).multiprocessors.value));
  }
  for (const double n : switches) {
    for (const double at : {std::floor(n) - 1, std::floor(n), std::floor(n) + 1}) {
      if (at >= 1 && at <= to) all.insert(at);
    }
  }
  return {all.begin(), all.end()};
}

struct Density {
  double dense, factor;
};

struct Stack {
  std::string model, gpu, engine;
  Parallelism parallel{};

  [[nodiscard]] std::string words() const {
    return model + " on " + gpu + " with " + engine + ", " + std::to_string(parallel.tensor) + " x " +
           std::to_string(parallel.attention_data) + " x " + std::to_string(parallel.pipeline) + " GPUs";
  }
  [[nodiscard]] StepTimer timer(const LlmSpec& spec) const {
    const GpuSpec& card = read_once(gpu, [](const std::string& name) { return catalogue().gpu(name); });
    const auto read_profile = [](const std::string& name) { return catalogue().profile(name); };
    KernelProfile profile = read_once(card.profile, read_profile);
    const EngineSpec& of = read_once(engine, [](const std::string& name) { return catalogue().engine(name); });
    profile.engine_kernels = of.kernels;
    for (const EngineKernels& own : profile.by_engine) {
      if (own.kernels == of.kernels) use_kernels(read_once(own.profile, read_profile), spec, profile);
    }
    profile.fused = {of.fused_norms.value, of.fused_quantise.value};
    profile.launch.kernel_s = of.kernel_launch_s;
    profile.launch.chunks_captured = of.captures_chunks.value;
    const LinkSpec& link = read_once(card.peer_link, [](const std::string& name) { return catalogue().link(name); });
    return {card, link, profile, spec, parallel};
  }
};

/// Fails for every way to grow a step of the stack along which some step is shorter than a smaller one.
void expect_growth(const Stack& stack, const Density& density) {
  const LlmSpec& model = read_once(stack.model, [](const std::string& name) { return catalogue().model(name); });
  const StepTimer timer = stack.timer(model);
  const auto grow = [&](double to, const std::string& what, const auto& step) {
    double most_s = 0, fall = 0, least = 0, at = 0;
    double from = 0;
    for (const double n : read_once(Range(to, std::min(density.dense, to), density.factor), sizes_of)) {
      const double s = timer.time(step(n).work()).total_s;
      if (s >= most_s) {
        most_s = s;
        from = n;
      } else if (1 - s / most_s > fall) {
        fall = 1 - s / most_s;
        least = from;
        at = n;
      }
    }
    EXPECT_LE(fall, kMostFall) << stack.words() << ": " << what << ", from " << least << " to " << at;
  };
  for (const double before : {0.0, 2000.0, 30'000.0}) {
    const std::string behind = " behind " + std::to_string(before);
    grow(32768, "tokens of a chunk" + behind, [&](double n) { return Step(model).chunk(n, before); });
    grow(32, "chunks of 128" + behind, [&](double n) { return Step(model).chunk(128, before, static_cast<int>(n)); });
    // Latents of which layers select: chunks of unlike contexts are timed as if alike, which no row tells, to 3 %.
    if (model.window.layers > 0 && model.window.kind == WindowKind::selected) continue;
    for (const double other : {16.0, 512.0, 4096.0}) {
      grow(8192, "tokens of a chunk beside another of " + std::to_string(other) + behind,
           [&](double n) { return Step(model).chunk(other, before).chunk(n - 1, 0); });
    }
  }
  for (const double tokens : {16.0, 512.0, 4096.0}) {
    grow(131'072, "what is cached of a chunk of " + std::to_string(tokens),
         [&](double n) { return Step(model).chunk(tokens, n - 1); });
  }
  for (const double context : {16.0, 500.0, 2000.0, 100'000.0}) {
    const std::string over = " over " + std::to_string(context);
    grow(2048, "decoding requests" + over, [&](double n) { return Step(model).decode(n, context); });
    grow(1024, "decoding requests beside a chunk" + over,
         [&](double n) { return Step(model).chunk(512, 0).decode(n - 1, context); });
    grow(4096, "tokens of a chunk beside decoding requests" + over,
         [&](double n) { return Step(model).decode(32, context).chunk(n - 1, 0); });
    grow(256, "verifying requests" + over, [&](double n) { return Step(model).verify(n, context, 25); });
    grow(128, "drafts to verify" + over, [&](double n) { return Step(model).verify(32, context, n - 1); });
  }
  for (const double requests : {1.0, 8.0, 64.0, 256.0}) {
    const std::string of = " of requests, " + std::to_string(requests);
    grow(131'072, "contexts" + of, [&](double n) { return Step(model).decode(requests, n); });
    grow(131'072, "contexts to verify" + of, [&](double n) { return Step(model).verify(requests, n, 10); });
  }
}

Parallelism shared(std::int64_t tensor, std::int64_t ranks = 1, std::int64_t stages = 1) {
  Parallelism p(tensor);
  p.attention_data = ranks;
  p.expert = ranks > 1 ? tensor * ranks : 1;
  p.pipeline = stages;
  return p;
}

/// Layers whose window begins anew every so many tokens do less at once there.
bool grows(const std::string& model) {
  const WindowLayers window = catalogue().model(model).window;
  return window.layers == 0 || window.kind != WindowKind::chunked;
}

TEST(StepGrowth, MoreWorkIsNeverDoneSooner) {
  const Density coarse{20, 1.2};
  // Latents, latents of which layers select, a KV head for every head, groups, windows, experts, states.
  const std::vector<std::string> models = {"deepseek-v3",
                                           "glm-5.2-fp8",
                                           "llama-2-7b",
                                           "llama-3.1-8b",
                                           "gemma-3-12b",
                                           "qwen3-235b-a22b",
                                           "nemotron-3-nano-30b-a3b"};
  const std::vector<std::string> gpus = {"a100", "h100-sxm",     "h20",      "b200",
                                         "l40s", "rtx-pro-6000", "rtx-4090", "gb200"};
  for (const std::string& model : models) {
    for (const std::string& gpu : gpus) {
      if (KVSIM_SANITIZED && gpu != "h100-sxm") continue;
      expect_growth({model, gpu, "vllm", shared(1)}, coarse);
      expect_growth({model, gpu, "trtllm", shared(8)}, coarse);
    }
    if (KVSIM_SANITIZED) continue;
    expect_growth({model, "h200", "sglang", shared(2, 4)}, coarse);
    expect_growth({model, "h200", "vllm", shared(2, 1, 2)}, coarse);
  }
}

TEST(StepGrowth, MoreWorkIsNeverDoneSoonerAnywhere) {
  const Density fine{300, 1.05};
  for (const std::string& model : names(EntryKind::model)) {
    if (!grows(model)) continue;
    for (const std::string& gpu : names(EntryKind::gpu)) {
      expect_growth({model, gpu, "vllm", shared(1)}, fine);
      expect_growth({model, gpu, "trtllm", shared(4)}, fine);
    }
  }
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
