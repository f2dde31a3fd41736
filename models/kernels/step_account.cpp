#include "models/kernels/step_account.h"

#include <bit>
#include <cmath>

namespace kvsim::models {
namespace {

constexpr unsigned kMantissa = 52;

}  // namespace

/// Sizes are rounded to so many bits behind their first one. Numbers of tokens are rounded down where there are 4:
/// kernels change at round numbers, and what is below one stays below it.
struct SizeCell {
  unsigned tokens, contexts;
  bool down;

  [[nodiscard]] std::uint64_t of_tokens(double size) const { return cut(size, tokens, down); }
  [[nodiscard]] std::uint64_t of_context(double size) const { return cut(size, contexts, false); }
  [[nodiscard]] double rounded_tokens(double size) const { return size_at(of_tokens(size), tokens); }
  [[nodiscard]] double rounded_context(double size) const { return size_at(of_context(size), contexts); }

 private:
  static std::uint64_t cut(double size, unsigned bits, bool down) {
    const std::uint64_t half = down ? 0 : std::uint64_t{1} << (kMantissa - bits - 1);
    return (std::bit_cast<std::uint64_t>(size) + half) >> (kMantissa - bits);
  }
  static double size_at(std::uint64_t cell, unsigned bits) { return std::bit_cast<double>(cell << (kMantissa - bits)); }
};

namespace {

/// Tokens at the points of the coarse CurveGrid, whole ones up to 32 as they are; what they attend to and logits, on
/// which shares depend less, in steps of 13 to 25 %.
constexpr SizeCell kFine{4, 2, true};
/// A step of several kinds of work has one for each kind, and its chunks are taken as alike.
constexpr SizeCell kCoarse{2, 0, false}, kCoarseBeside{1, 0, false};

/// Joins the cells of a step's sizes to one number.
class Cells {
 public:
  void add(std::uint64_t word) {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15U;
    constexpr int kHalf = 32;
    hash_ = (hash_ ^ word) * kOdd;
    hash_ ^= hash_ >> kHalf;
  }
  void add(const SizeCell& cell, double tokens, double b, double c) {
    constexpr unsigned kEach = 21;
    add(cell.of_tokens(tokens) ^ (cell.of_context(b) << kEach) ^ (cell.of_context(c) << (2 * kEach)));
  }
  [[nodiscard]] std::uint64_t hash() const { return hash_ | 1U; }  // 0: no account

 private:
  std::uint64_t hash_ = 0;
};

/// The part that a window leaves is rounded, not the part it leaves out: it leaves little of long contexts.
double left_out(const SizeCell& cell, double all, double out, double rounded_all) {
  return out > 0 ? std::max(rounded_all - cell.rounded_context(std::max(all - out, 0.0)), 0.0) : 0;
}

bool reads_all(const AttentionWork& w, double token_bytes) {
  constexpr double kRounding = 1e-9;
  return std::abs(w.kv_bytes - w.pairs * token_bytes) <= kRounding * w.kv_bytes;
}

void add(Cells& cells, const SizeCell& cell, const AttentionWork& w, double token_bytes) {
  if (w.query_tokens <= 0) return;
  cells.add(cell, w.query_tokens, reads_all(w, token_bytes) ? 0 : w.kv_bytes, w.pairs);
  cells.add(cell, w.requests, w.unread > 0 ? std::max(w.kv_bytes / token_bytes - w.unread, 0.0) : 0,
            w.unattended > 0 ? std::max(w.pairs - w.unattended, 0.0) : 0);
  if (w.quantised > 0) cells.add(cell, w.query_tokens, w.quantised, 0);
}

/// All requests are as long as their mean.
AttentionWork rounded(const SizeCell& cell, const AttentionWork& w, double token_bytes) {
  constexpr double kByTheForm = 1 + 1e-9;  // and not in between whole lengths, which takes two of its times
  AttentionWork r;
  if (w.query_tokens <= 0) return r;
  r.query_tokens = cell.rounded_tokens(w.query_tokens);
  r.pairs = cell.rounded_context(w.pairs);
  r.kv_bytes = reads_all(w, token_bytes) ? r.pairs * token_bytes * kByTheForm : cell.rounded_context(w.kv_bytes);
  r.requests = cell.rounded_tokens(w.requests);
  r.unattended = left_out(cell, w.pairs, w.unattended, r.pairs);
  r.unread = left_out(cell, w.kv_bytes / token_bytes, w.unread, r.kv_bytes / token_bytes);
  r.quantised = cell.rounded_context(w.quantised);
  return r;
}

StepWork rounded(const SizeCell& decodes, const SizeCell& cell, const StepWork& work, double token_bytes) {
  StepWork r;
  r.decode = rounded(decodes, work.decode, token_bytes);
  r.verify = rounded(cell, work.verify, token_bytes);
  r.prefill = rounded(cell, work.prefill, token_bytes);
  r.logit_tokens = decodes.rounded_context(work.logit_tokens);
  r.sampled = decodes.rounded_context(work.sampled);
  r.extra_gpu_s = cell.rounded_context(work.extra_gpu_s);
  r.extra_arithmetic_s = std::min(cell.rounded_context(work.extra_arithmetic_s), r.extra_gpu_s);
  for (const PrefillChunk& c : work.chunks) {
    PrefillChunk& rounded = r.chunks.emplace_back(c);
    rounded.tokens = cell.rounded_tokens(c.tokens);
    rounded.before = cell.rounded_context(c.before);
    rounded.alike = cell.rounded_tokens(c.alike);
    // Selecting layers leave out as large a share as before.
    rounded.unread *= (rounded.before + rounded.tokens) / (c.before + c.tokens);
    rounded.unattended *=
        rounded.tokens * (rounded.before + rounded.tokens / 2) / (c.tokens * (c.before + c.tokens / 2));
  }
  return r;
}

/// One kind of chunk that stands for all of them.
StepWork with_alike_chunks(const StepWork& work) {
  StepWork r = work;
  if (work.chunks.size() < 2) return r;
  PrefillChunk mean{0, 0, 0};
  for (const PrefillChunk& c : work.chunks) {
    mean.tokens += c.tokens * c.alike;
    mean.before += c.before * c.alike;
    mean.unread += c.unread * c.alike;
    mean.unattended += c.unattended * c.alike;
    mean.alike += c.alike;
    mean.selects = mean.selects || c.selects;
  }
  for (double PrefillChunk::*sum :
       {&PrefillChunk::tokens, &PrefillChunk::before, &PrefillChunk::unread, &PrefillChunk::unattended}) {
    mean.*sum /= mean.alike;
  }
  r.chunks.assign(1, mean);
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
                   kFine.of_context(d.pairs),
                   kFine.of_context(d.kv_bytes),
                   reads_all(d, token_bytes_)};
  if (account_ == nullptr || now != latest_) {
    latest_ = now;
    account_ = &look_up(work);
  }
  return *account_;
}

const StepAccount& StepAccounts::look_up(const StepWork& work) {
  const bool mixed = work.prefill.query_tokens > 0 || work.verify.query_tokens > 0;
  return mixed && made_ > kFinelyMade ? look_up(with_alike_chunks(work), kCoarseBeside, kCoarse)
                                      : look_up(work, kFine, kFine);
}

const StepAccount& StepAccounts::look_up(const StepWork& work, const SizeCell& decodes, const SizeCell& cell) {
  const bool captured = machines_.as_described.captured(work);
  Cells cells;
  cells.add(decodes, captured ? 1 : 0, work.logit_tokens, work.sampled);
  add(cells, decodes, work.decode, token_bytes_);
  add(cells, cell, work.verify, token_bytes_);
  if (work.prefill.query_tokens > 0) {
    cells.add(1);
    add(cells, cell, work.prefill, token_bytes_);
    for (const PrefillChunk& c : work.chunks) {
      cells.add(cell, c.tokens, c.before, 0);
      cells.add(cell.of_tokens(c.alike));
    }
  }
  cells.add(cell, 0, work.extra_gpu_s, work.extra_arithmetic_s);
  const bool for_size = machines_.as_described.launched_for_size(work);
  cells.add((for_size ? 1U : 0U) + (cell.down ? 2U : 0U));
  const std::uint64_t hash = cells.hash();
  StepAccount& known = accounts_[hash / 2 % kKept];
  if (known.cell == hash) return known;
  known = account_of(rounded(decodes, cell, work, token_bytes_), captured);
  known.captured = captured;
  known.launched_for_size = for_size;
  known.cell = hash;
  ++made_;
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
  const double host_s = work.tokens() > 0 ? m.as_described.host_s(work) : 0;
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
  const Shares<kResources> shares = shared_out<kResources>([&](const std::array<bool, kResources>& twice) {
    return std::clamp(1 - total_s(twice) / now_s, 0.0, kSavedByTwice);
  });
  a.bound = shares.bound;
  a.saved = shares.saved;
  return a;
}

}  // namespace kvsim::models
