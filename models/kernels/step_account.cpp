#include "models/kernels/step_account.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace kvsim::models {
namespace {

constexpr double kSavedByTwice = 0.5;  // what twice a resource saves of the time that is in inverse proportion to it

/// A size is rounded to so many bits behind its first one: numbers of tokens down to the points of the coarse CurveGrid
/// (kernels change at round numbers, so that those below one stay below it), in steps of 3.1 to 6.3 %, and whole ones
/// up to 32 as they are; what they attend to and logits, on which shares depend less, to the nearest of steps of 13 to
/// 25 %.
constexpr unsigned kOfTokens = 52 - 4, kOfContexts = 52 - 2;

std::uint64_t cell_of(double size, unsigned dropped = kOfTokens) {
  const std::uint64_t half = dropped == kOfTokens ? 0 : std::uint64_t{1} << (dropped - 1);
  return (std::bit_cast<std::uint64_t>(size) + half) >> dropped;
}

double rounded(double size, unsigned dropped = kOfTokens) {
  return std::bit_cast<double>(cell_of(size, dropped) << dropped);
}

/// Joins the cells of a step's sizes to one number.
class Cells {
 public:
  void add(std::uint64_t word) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;
    constexpr int kHalf = 32;
    hash_ = (hash_ ^ word) * kOdd;
    hash_ ^= hash_ >> kHalf;
  }
  void add(double tokens, double b, double c) {
    constexpr unsigned kEach = 21;
    add(cell_of(tokens) ^ (cell_of(b, kOfContexts) << kEach) ^ (cell_of(c, kOfContexts) << (2 * kEach)));
  }
  [[nodiscard]] std::uint64_t hash() const { return hash_ | 1U; }  // 0: no account

 private:
  std::uint64_t hash_ = 0;
};

/// What a window leaves is rounded, not what it leaves out: of long contexts it leaves little.
double left_out(double all, double out, double rounded_all) {
  return out > 0 ? std::max(rounded_all - rounded(std::max(all - out, 0.0), kOfContexts), 0.0) : 0;
}

bool reads_all(const AttentionWork& w, double token_bytes) {
  constexpr double kRounding = 1e-9;
  return std::abs(w.kv_bytes - w.pairs * token_bytes) <= kRounding * w.kv_bytes;
}

void add(Cells& cells, const AttentionWork& w, double token_bytes) {
  if (w.query_tokens <= 0) return;
  cells.add(w.query_tokens, reads_all(w, token_bytes) ? 0 : w.kv_bytes, w.pairs);
  cells.add(w.requests, w.unread > 0 ? std::max(w.kv_bytes / token_bytes - w.unread, 0.0) : 0,
            w.unattended > 0 ? std::max(w.pairs - w.unattended, 0.0) : 0);
}

/// All requests are as long as their mean.
AttentionWork rounded(const AttentionWork& w, double token_bytes) {
  constexpr double kByTheForm = 1 + 1e-9;  // and not in between whole lengths, which takes two of its times
  AttentionWork r;
  if (w.query_tokens <= 0) return r;
  r.query_tokens = rounded(w.query_tokens);
  r.pairs = rounded(w.pairs, kOfContexts);
  r.kv_bytes = reads_all(w, token_bytes) ? r.pairs * token_bytes * kByTheForm : rounded(w.kv_bytes, kOfContexts);
  r.requests = rounded(w.requests);
  r.unattended = left_out(w.pairs, w.unattended, r.pairs);
  r.unread = left_out(w.kv_bytes / token_bytes, w.unread, r.kv_bytes / token_bytes);
  return r;
}

StepWork rounded(const StepWork& work, double token_bytes) {
  StepWork r;
  r.decode = rounded(work.decode, token_bytes);
  r.verify = rounded(work.verify, token_bytes);
  r.prefill = rounded(work.prefill, token_bytes);
  r.logit_tokens = rounded(work.logit_tokens, kOfContexts);
  r.sampled = rounded(work.sampled, kOfContexts);
  r.extra_gpu_s = rounded(work.extra_gpu_s, kOfContexts);
  r.extra_arithmetic_s = std::min(rounded(work.extra_arithmetic_s, kOfContexts), r.extra_gpu_s);
  for (const PrefillChunk& c : work.chunks) {
    r.chunks.push_back({rounded(c.tokens), rounded(c.before, kOfContexts), rounded(c.alike)});
  }
  return r;
}

}  // namespace

StepAccounts::StepAccounts(const StepTimer& timer)
    : machines_{timer.coarse(1, 1), timer.coarse(2, 1), timer.coarse(1, 2), timer.coarse(2, 2)},
      token_bytes_(static_cast<double>(timer.model().kv_bytes_per_token())) {}

const StepAccount& StepAccounts::of(const StepWork& work) {
  const AttentionWork& d = work.decode;
  const bool decodes_alone = work.verify.query_tokens == 0 && work.prefill.query_tokens == 0 && work.extra_gpu_s == 0 &&
                             d.unread == 0 && d.unattended == 0;
  if (!decodes_alone) {
    account_ = nullptr;
    return look_up(work);
  }
  const Latest now{d.query_tokens,
                   d.requests,
                   work.logit_tokens,
                   work.sampled,
                   cell_of(d.pairs, kOfContexts),
                   cell_of(d.kv_bytes, kOfContexts),
                   reads_all(d, token_bytes_)};
  if (account_ == nullptr || now != latest_) {
    latest_ = now;
    account_ = &look_up(work);
  }
  return *account_;
}

const StepAccount& StepAccounts::look_up(const StepWork& work) {
  const bool captured = machines_.as_described.captured(work);
  Cells cells;
  cells.add(captured ? 1 : 0, work.logit_tokens, work.sampled);
  add(cells, work.decode, token_bytes_);
  add(cells, work.verify, token_bytes_);
  if (work.prefill.query_tokens > 0) {
    cells.add(1);
    add(cells, work.prefill, token_bytes_);
    for (const PrefillChunk& c : work.chunks) {
      cells.add(c.tokens, c.before, 0);
      cells.add(cell_of(c.alike));
    }
  }
  cells.add(0, work.extra_gpu_s, work.extra_arithmetic_s);
  const bool for_size = machines_.as_described.launched_for_size(work);
  cells.add(for_size ? 1 : 0);
  const std::uint64_t cell = cells.hash();
  StepAccount& known = accounts_[cell / 2 % kKept];
  if (known.cell == cell) return known;
  known = account_of(rounded(work, token_bytes_), captured);
  known.launched_for_size = for_size;
  known.cell = cell;
  return known;
}

StepAccount StepAccounts::account_of(const StepWork& work, bool captured) const {
  constexpr std::size_t kHbm = 0, kCompute = 1;
  const Machines& m = machines_;
  const auto time = [&](bool memory, bool arithmetic, Faster faster) {
    const StepTimer& timer =
        memory ? (arithmetic ? m.twice_both : m.twice_memory) : (arithmetic ? m.twice_arithmetic : m.as_described);
    faster.captured = captured;
    StepWork beside = work;  // with the kernels beside the pass, which no timer knows, as fast as their resource
    beside.extra_gpu_s = (work.extra_gpu_s - work.extra_arithmetic_s) / (memory ? 2 : 1) +
                         work.extra_arithmetic_s / (arithmetic ? 2 : 1);
    return timer.time(beside, timer.token_time(work), nullptr, faster);
  };
  // Where launches hide nothing and no stage waits for another, all parts of a step but its kernels add up.
  const StepTime now = time(false, false, {});
  const double host_s = work.tokens() > 0 ? m.as_described.profile().iteration_overhead_s.value : 0;
  const bool adds_up = captured && m.as_described.one_stage();
  std::array<double, 4> kernels_s{};  // by memory and arithmetic
  if (adds_up) {
    for (const std::size_t i : {1U, 2U, 3U}) kernels_s[i] = time((i & 1U) != 0, (i & 2U) != 0, {}).total_s;
    kernels_s[0] = now.total_s;
  }
  const auto total_s = [&](const std::array<bool, kResources>& twice) {
    const bool collectives = twice[static_cast<std::size_t>(Resource::collectives)],
               launches = twice[static_cast<std::size_t>(Resource::launches)],
               host = twice[static_cast<std::size_t>(Resource::host)];
    if (adds_up) {
      const double saved_s =
          (collectives ? now.collectives_s : 0) + (launches ? now.launch_s : 0) + (host ? host_s : 0);
      return kernels_s[(twice[kHbm] ? 1U : 0U) + (twice[kCompute] ? 2U : 0U)] - saved_s / 2;
    }
    const auto speed = [](bool is_twice) { return is_twice ? 2.0 : 1.0; };
    return time(twice[kHbm], twice[kCompute],
                {.launches = speed(launches), .collectives = speed(collectives), .host = speed(host)})
        .total_s;
  };
  StepAccount a;
  const double now_s = total_s({});
  if (now_s <= 0) return a;
  const auto saved = [&](const std::array<bool, kResources>& twice) {
    return std::clamp(1 - total_s(twice) / now_s, 0.0, kSavedByTwice);
  };
  std::array<bool, kResources> all{};
  all.fill(true);
  const double saved_by_all = saved(all);
  double sum = 0;
  for (std::size_t i = 0; i < kResources; ++i) {
    std::array<bool, kResources> one{}, others = all;
    one[i] = true;
    others[i] = false;
    a.saved[i] = saved(one);
    a.bound[i] = (a.saved[i] + std::max(saved_by_all - saved(others), 0.0)) / 2;
    sum += a.bound[i];
  }
  for (double& share : a.bound) share *= sum > 0 ? saved_by_all / kSavedByTwice / sum : 0;
  return a;
}

}  // namespace kvsim::models
