#include "sim/instance/full_kv_source.h"

#include <algorithm>

#include "sim/serving/step_parts.h"

namespace kvsim::serving {
namespace {

/// A request that decodes with its full KV attends to tokens that its stored prefix gave up.
void attend_to_all(Request& r) {
  if (r.prefix->dropped > 0 || r.prefix->missing > 0) r.prefix.edit().dropped = r.prefix.edit().missing = 0;
}

class HostCopies final : public FullKvSource {
 public:
  using FullKvSource::FullKvSource;

  void found(Request& r) const override {
    const DecodeConfig& decode = parts_.config.decode;
    const bool drafts = r.samplers.drafts != nullptr;
    if (!drafts || !decode.budget || decode.acceptance.kind != models::AcceptanceKind::compressor) return;
    r.samplers.drafts->acceptance.agreement =
        decode.compressor.agreement_at(parts_.geometry.compressed().ratio_of(r.prompt, r.output / 2));
  }
  [[nodiscard]] std::int64_t reservation(const Request& r) const override {
    return parts_.geometry.reload_reservation(r.prompt, r.generated);
  }
  [[nodiscard]] double load(const Request& r) const override {
    return first_load(r, parts_.geometry.reload_transfer(r.prompt, r.generated));
  }
  [[nodiscard]] double first_load(const Request&, std::int64_t bytes) const override {
    return static_cast<double>(bytes) / parts_.from_host.bandwidth();
  }
  [[nodiscard]] std::int64_t replaceable(const Request& r) const override {
    return r.full_kv.offload_pending ? 0 : parts_.geometry.redundant_reservation(r.prompt, r.generated);
  }
  void bring(Request& r) override {
    engine::Callback arrived = parts_.on_arrived;
    arrived.word = r.id;
    r.moving.transfer = parts_.from_host.submit({.bytes = parts_.geometry.reload_transfer(r.prompt, r.generated),
                                                 .on_complete = arrived,
                                                 .owner = r.id,
                                                 .kind = "reload"});
  }
};

/// Drafts read prompts as they were found.
class WholePrompts : public FullKvSource {
 public:
  using FullKvSource::FullKvSource;

  void found(Request& r) const override {
    r.full_kv.direct = r.full_kv.resident = whole(r);
    if (parts_.config.decode.acceptance.kind == models::AcceptanceKind::compressor) {
      r.samplers.drafts->acceptance.agreement = r.prefix->agreement;
    }
  }

 protected:
  static bool whole(const Request& r) {
    return r.prefix->missing == 0 && r.prefix->quality >= 1 && r.prefix->step_kl == 0;
  }
  /// Nothing is gained by drafting on.
  static void end_round(Request& r) { r.round.target = std::min(r.round.target, r.round.drafted); }
};

class Tiers final : public WholePrompts {
 public:
  using WholePrompts::WholePrompts;

  /// Dropped KV: at most a block more than the prompt and its output fill.
  [[nodiscard]] std::int64_t most_beside(std::int64_t) const override { return parts_.geometry.block_bytes(); }
  [[nodiscard]] std::int64_t reservation(const Request& r) const override {
    return parts_.geometry.full_reservation(r.prefix->missing);
  }
  [[nodiscard]] double load(const Request& r) const override { return parts_.prompts.load_missing_s(r); }
  [[nodiscard]] double first_load(const Request& r, std::int64_t) const override { return parts_.prompts.load_s(r); }
  void found(Request& r) const override {
    WholePrompts::found(r);
    r.round.tail = r.full_kv.direct ? 0 : r.prefill.target - r.prefix->tokens;
  }
  [[nodiscard]] bool is_first(const Request& r) const override { return r.generated == 0; }
  void bring(Request& r) override {
    engine::Callback arrived = parts_.on_arrived;
    arrived.word = r.id;
    parts_.prompts.load_missing(r, arrived);
  }
  void arrived(Request& r) const override {
    if (r.generated == 0) end_round(r);  // it waits for its first token
  }
  void abandoned(Request& r) const override { ++r.moving.stale_reloads; }
  void verified(Request& r, bool free) override {
    if (!free || r.kv.staged() == 0) {
      parts_.memory.unstage(r.kv);
      return;
    }
    parts_.memory.keep_staged(r.kv);
    r.full_kv.direct = true;
    attend_to_all(r);
  }
};

class Recomputed final : public WholePrompts {
 public:
  using WholePrompts::WholePrompts;

  [[nodiscard]] std::int64_t most_beside(std::int64_t tokens) const override {
    return parts_.geometry.full_reservation(tokens);
  }
  [[nodiscard]] std::int64_t reservation(const Request& r) const override {
    return parts_.geometry.full_reservation(r.prefill.target);
  }
  [[nodiscard]] double load(const Request& r) const override { return static_cast<double>(r.prefill.target); }
  /// Rows of assemblies and prompts that are simply prefilled go before what is recomputed.
  [[nodiscard]] double first_load(const Request& r, std::int64_t) const override {
    return static_cast<double>(r.prefill.assembly ? r.prefill.assembly->rows : r.prefill.target);
  }
  [[nodiscard]] double loads_each(double, std::int64_t decoding) const override {
    return static_cast<double>(std::max<std::int64_t>(parts_.config.schedule.max_batched_tokens - decoding, 1));
  }
  void found(Request& r) const override {
    WholePrompts::found(r);
    r.round.tail = 0;
  }
  [[nodiscard]] bool is_first(const Request&) const override { return true; }
  void bring(Request& r) override { r.prefill.recomputed = 0; }

  void batch(std::span<Request* const> decoding, std::int64_t& budget, models::StepWork& work) override {
    step_.clear();
    for (Request* r : decoding) {
      if (r->full_kv.direct || r->round.reload != Reload::in_flight || budget <= 0) continue;
      const std::int64_t tokens = std::min(budget, r->prefill.target - r->prefill.recomputed);
      add_chunk(work, parts_.geometry, r->prefill.recomputed, tokens,
                r->prefill.recomputed + tokens == r->prefill.target);
      step_.push_back({r, r->admission, tokens});
      budget -= tokens;
    }
  }
  void apply() override {
    for (const Chunk& chunk : step_) {
      Request& r = *chunk.request;
      if (r.admission != chunk.admission || r.phase != Phase::decoding || r.round.reload != Reload::in_flight) continue;
      r.prefill.recomputed += chunk.tokens;
      parts_.measured.reuse.verified_tokens += chunk.tokens;
      if (r.prefill.recomputed < r.prefill.target) continue;
      r.round.reload = Reload::arrived;
      end_round(r);
    }
  }
  void verified(Request& r, bool) override {
    r.full_kv.direct = true;
    attend_to_all(r);
    parts_.memory.unstage(r.kv);  // what it holds grows to all of the prompt, in the place of this
  }

 private:
  struct Chunk {
    Request* request;
    std::uint64_t admission;
    std::int64_t tokens;
  };
  std::vector<Chunk> step_;
};

}  // namespace

bool full_kv_comes_by_layers(const ServingConfig& config, const DecodePolicy& decode) {
  return decode.verifies && !decode.as_found() && config.schedule.arrival != ReloadArrival::whole;
}

std::unique_ptr<FullKvSource> make_full_kv_source(const FullKvParts& parts, const DecodePolicy& decode) {
  switch (decode.full_kv) {
    case FullKv::host_copies:
      return std::make_unique<HostCopies>(parts);
    case FullKv::tiers:
      return std::make_unique<Tiers>(parts);
    case FullKv::recomputed:
      break;
  }
  return std::make_unique<Recomputed>(parts);
}

}  // namespace kvsim::serving
