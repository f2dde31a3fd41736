// A forward pass of a group of GPUs, replica or node: who takes part with what, and what that adds to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/compression/compressor_spec.h"
#include "models/kernels/profile.h"
#include "models/kernels/step_times.h"
#include "models/kernels/step_work.h"
#include "sim/engine/time.h"
#include "sim/machine/gpu_group.h"
#include "sim/memory/kv_memory.h"
#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/measurements.h"
#include "sim/serving/request.h"

namespace kvsim::serving {

/// The timer of the configured model's steps on the group's GPUs.
[[nodiscard]] models::StepTimer step_timer(const ServingConfig& config, const GroupConfig& group,
                                           const models::Parallelism& parallel);

/// Whether the profile says how long attention takes over KV of the compressor's few bits.
[[nodiscard]] bool profile_times_few_bits(const GroupConfig& group, const models::CompressorSpec& compressor);

/// Time of attention over compressed KV / over the same bytes whole: by bytes and elements where the profile has a rate
/// of dequantising (models::LowBitAttention), else the compressor's figure.
[[nodiscard]] double attention_time_factor(const ServingConfig& config, const GroupConfig& group,
                                           const models::CompressorSpec& compressor);

/// Attention-time factor of the low-bit copies of policies that prefetch: 0 where they are dequantised to GPU memory
/// first (see add_low_bit_decode).
[[nodiscard]] double low_bit_time_factor(const ServingConfig& config, const GroupConfig& group);

/// One token against the full KV of `context` tokens.
void add_decode(models::StepWork& work, const KvGeometry& geometry, std::int64_t context);

/// One token against compressed KV and the `drafted` tokens after it, which are whole. `attention_time_factor`: see
/// models::CompressorSpec.
void add_draft(models::StepWork& work, const KvGeometry& geometry, std::int64_t prompt, std::int64_t generated,
               std::int64_t drafted, double attention_time_factor);

/// One draft with `proposed` tokens of an auxiliary drafter, which one pass over that KV takes too.
void add_draft(models::StepWork& work, const KvGeometry& geometry, std::int64_t prompt, std::int64_t generated,
               std::int64_t drafted, std::int64_t proposed, double attention_time_factor);

/// `queries` query tokens of one request against its low-bit copy and what is held in 16 bit beside it, read once for
/// all of them. `attention_time_factor` 0: dequantised to 16 bit in GPU memory first, then read from there.
void add_low_bit_decode(models::StepWork& work, const KvGeometry& geometry, std::int64_t prompt, std::int64_t generated,
                        std::int64_t queries, double attention_time_factor);

/// `drafted` drafted tokens, and the one before them, against the full KV of `context` tokens.
void add_verification(models::StepWork& work, const KvGeometry& geometry, std::int64_t context, std::int64_t drafted);

/// `tokens` tokens of a prompt after the first `before`; `last` if they end it, and give the first output token.
void add_chunk(models::StepWork& work, const KvGeometry& geometry, std::int64_t before, std::int64_t tokens, bool last);

/// Tokens [begin, end) of chunks of `unit` tokens each, which stand one after the other and know nothing of each other.
void add_chunks_alone(models::StepWork& work, const KvGeometry& geometry, std::int64_t unit, std::int64_t begin,
                      std::int64_t end);

/// `rows` tokens anywhere in a prompt whose KV takes up `context` tokens: the first of them attends to `before` others,
/// each further one to one more; `last` as above.
void add_rows(models::StepWork& work, const KvGeometry& geometry, std::int64_t rows, double before,
              std::int64_t context, bool last);

/// GPU time of compressing `tokens` tokens of a context that were just prefilled: at the compressor's own rate where it
/// has one, else by the kernels it takes.
[[nodiscard]] double compression_s(const ServingConfig& config, const GroupConfig& group, const KvGeometry& geometry,
                                   const models::StepTimer& timer, std::int64_t tokens);

/// GPU time of making so many tokens' compressed KV whole again outside attention: at the compressor's own rate where
/// it has one, else by the profile's kernel; 0 where neither is known, or what is kept is whole.
[[nodiscard]] double decompression_s(const ServingConfig& config, const GroupConfig& group, const KvGeometry& geometry,
                                     const models::StepTimer& timer, std::int64_t tokens);

/// Work of a forward pass for one request, in the order in which timelines name it.
enum class Work : std::uint8_t {
  decode,      ///< its next token, which is final
  draft,       ///< a token to be verified
  verify,      ///< its drafted tokens against the full KV
  prefill,     ///< a chunk of its prompt
  catch_up,    ///< all it has generated and drafted against the full prompt (P2's change to decoding alone)
  decompress,  ///< compressed KV that has arrived, to full size
};

/// Counts what a request did in one iteration.
inline void count_iteration(Work work, Measurements& m) {
  if (work == Work::decode || work == Work::draft) m.drafting_request_iterations += 1;
  if (work == Work::verify || work == Work::catch_up) m.verifying_request_iterations += 1;
}

struct StepPart {
  Work work = Work::decode;
  std::int64_t tokens = 0;    ///< query positions
  std::int64_t proposed = 0;  ///< of these, by an auxiliary drafter: decode and draft
};

/// A request's part in a step of a group of GPUs.
struct StepEntry : StepPart {
  Request* request;
  std::uint64_t admission;  ///< tells a preempted and readmitted request from the one that was batched

  [[nodiscard]] bool prefills() const { return work == Work::prefill; }
  /// It gives the request a token, final or not.
  [[nodiscard]] bool decodes() const { return work == Work::decode || work == Work::draft; }
  /// The request is still there to take what the step has computed.
  [[nodiscard]] bool stands() const {
    return request->admission == admission && request->phase == (prefills() ? Phase::prefilling : Phase::decoding);
  }
};

/// A step of a group of GPUs as it is put together; decoding requests come first. Kept for its memory.
struct ForwardPass {
  std::vector<StepEntry> entries;
  models::StepWork work;
  models::StepTime time;
  bool prefills_alone = false;  ///< who decodes has no part in it
  bool iterates = false;        ///< requests decode, draft or are verified in it as their schedule says
  bool assembles = false;       ///< beside its entries it computes chunks of prompts that are put together

  void clear() {
    entries.clear();
    work.clear();
    prefills_alone = iterates = assembles = false;
  }
  void add(Request& r, const StepPart& part) { entries.push_back({part, &r, r.admission}); }
  [[nodiscard]] bool decodes() const { return !entries.empty() && !entries.front().prefills(); }
  [[nodiscard]] bool computes_prompts() const { return work.prefill.query_tokens > 0; }
  [[nodiscard]] std::int64_t verifications() const;
  /// Its length where nothing slows it.
  [[nodiscard]] engine::Duration computing() const;
  /// As its group is told of it, in `time` and as one that decodes, with the account of its work.
  [[nodiscard]] machine::Step step(models::StepTimes& times) const;
  /// Name of the step's work, for a timeline: "draft+verify".
  [[nodiscard]] std::string name() const;
};

/// Query positions of the request's next verification.
inline std::int64_t verified_tokens(const Request& r) {
  return r.round.tail + r.round.drafted + 1;
}

// A verification that begins while the last layers of its KV are on their way (schedule.arrival: layerwise), on
// replicas and nodes of pools alike. Layers are alike in time and bytes, and come in order.

/// Layer j of L starts j V/L into a forward pass of length V and needs the share (j + 1)/L of the transfer. With `left`
/// of a transfer of length D to go, that holds for every layer if it holds for the first and the last: left <= D (L -
/// 1)/L and left <= V (L - 1)/L. Returns the most that may be left, seconds.
inline double most_left_s(double transfer_s, double pass_s, std::int64_t layers) {
  const auto l = static_cast<double>(layers);
  return (l - 1) / l * std::min(transfer_s, pass_s);
}

/// Time of a pass after the last bytes have arrived: its last layer.
inline engine::Duration last_layer(const models::StepTime& pass, std::int64_t layers) {
  return std::max(engine::from_seconds(pass.total_s / static_cast<double>(layers)), engine::Duration{1});
}

/// How requests enter the forward passes of a group of GPUs, whose decode policy fetches nothing and keeps no low-bit
/// copy (those: Fetching).
class StepParts {
 public:
  /// All of it outlives this. `decode`: the configured policy. `drafts_read`: full where what drafts read is held like
  /// full KV, whatever became of it before.
  StepParts(const ServingConfig& config, const GroupConfig& group, const DecodePolicy& decode,
            const KvGeometry& geometry, const models::StepTimer& timer, memory::KvForm drafts_read);

  void add(const Request& r, const StepPart& part, models::StepWork& work) const;
  /// By what a request that decodes or drafts in step after step, a token each, reads more each time, when it attends
  /// to one token more: bytes, and quantised tokens. Nothing where that is not so, or not yet.
  struct Growth {
    double kv_bytes = 0, quantised = 0;
  };
  [[nodiscard]] std::optional<Growth> growth(const Request& r, Work work) const;
  /// Whether that may ever be so.
  [[nodiscard]] bool may_grow() const { return one_token_each_; }
  /// It decodes over compressed KV.
  [[nodiscard]] bool decodes_compressed() const { return decoding_reads_ == memory::KvForm::compressed; }
  /// Adds the compression of so many tokens of a prompt, after the pass that has its last chunk.
  void add_compression(std::int64_t tokens, models::StepWork& work) const;

 private:
  /// A token after the request's context and `drafted` others, with `proposed` of an auxiliary drafter.
  /// Query tokens beside a request's own where so many in a row are proposed.
  [[nodiscard]] std::int64_t verified(std::int64_t proposed) const;
  void add_token(const Request& r, memory::KvForm reads, std::int64_t drafted, std::int64_t proposed,
                 models::StepWork& work) const;

  const ServingConfig& config_;
  const GroupConfig& group_;
  const KvGeometry& geometry_;
  const models::StepTimer& timer_;
  bool one_token_each_;  // decoding and drafting steps take a token of each request, and what it has in GPU memory
  memory::KvForm decoding_reads_, drafts_read_;
  double attention_time_factor_;
};

}  // namespace kvsim::serving
