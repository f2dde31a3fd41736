// A request on its way through a replica.
#pragma once

#include <cstdint>

#include "models/acceptance/acceptance.h"
#include "sim/engine/link.h"
#include "sim/engine/random.h"
#include "sim/engine/time.h"

namespace kvsim::serving {

enum class Phase {
  queued,      ///< waiting for admission; holds no GPU memory
  loading,     ///< its stored KV is on the way to the GPU
  prefilling,  ///< its KV is being computed
  decoding,    ///< generates tokens (drafts and verifications included)
  finished,
  refused  ///< could never run on this cluster
};

/// Where the full KV for a request's next verification is.
enum class Reload {
  none,       ///< in host memory, not asked for
  in_flight,  ///< on the link or queued for it; its GPU memory is reserved
  arrived     ///< in GPU memory, together with the compressed KV or instead of it
};

/// What of a prompt was found in a prompt store, from its first token on.
struct StoredPrefix {
  std::int64_t tokens = 0;   ///< positions that need no computing; 0: nothing was stored
  std::int64_t dropped = 0;  ///< of these, tokens whose KV was given up: neither loaded nor attended to
  double unpack_s = 0;       ///< GPU time of turning it into 16-bit KV
  double quality = 1;        ///< relative task score of a request that continues from it
  double step_kl = 0;        ///< nats per decoding step against the whole KV; NaN where unknown
};

struct Request {
  std::uint64_t id = 0;
  engine::SimTime arrival;
  std::int64_t prompt = 0;
  std::int64_t output = 0;     ///< tokens to generate
  std::int64_t generated = 0;  ///< tokens emitted: final, verified by the full KV under a lossless policy

  Phase phase = Phase::queued;
  std::int64_t prefill_target = 0;  ///< tokens whose KV must exist before decoding
  std::int64_t prefill_done = 0;    ///< of which exist
  std::int64_t judged = -1;         ///< place in Measurements::verdicts; below 0: not judged
  std::uint64_t admission = 0;      ///< order of the latest admission: the newest is preempted first
  bool resident = false;            ///< pinned: its full KV stays in GPU memory
  std::int64_t in_host_tokens = 0;  ///< tokens whose full KV is in host memory or on its way there
  StoredPrefix prefix;              ///< what of its prompt was loaded at the latest admission

  // GPU memory held, in bytes reserved.
  std::int64_t held = 0;       ///< compressed or full KV with room for drafts
  std::int64_t staged = 0;     ///< full KV streaming in or there for a verification
  std::int64_t replaced = 0;   ///< compressed copy given up while the full KV is there
  std::int64_t host_held = 0;  ///< host memory
  bool settling = false;       ///< prefilled, but its full KV is still on the way to host memory

  // The current round of drafting and verifying.
  std::int64_t drafted = 0;
  std::int64_t draft_target = 0;
  bool late = false;  ///< this round's verification had to wait for its reload
  Reload reload = Reload::none;
  bool arriving = false;           ///< in flight, and each layer's KV in time for a verification that starts now
  engine::TransferId transfer;     ///< under way: first load or reload
  std::int64_t writebacks = 0;     ///< transfers to host memory under way
  bool pairs_asked = false;        ///< speculative prefetch: the step before chose the pairs of the coming one
  std::int64_t loading_bytes = 0;  ///< of its first load under way
  std::uint64_t stale_loads = 0;   ///< first loads under way for an admission that is over
  double agreement_estimate = 1;   ///< adaptive draft length
  models::RequestAcceptance acceptance;
  engine::RandomStream accept_stream{0, "acceptance"};

  // What it experienced.
  engine::SimTime first_token;
  engine::SimTime last_token;
  double largest_gap_s = 0;
  std::int64_t rounds = 0;
  std::int64_t drafted_tokens = 0;
  std::int64_t accepted_tokens = 0;
  std::int64_t corrections = 0;    ///< tokens the verifier itself gave: first mismatch or bonus
  std::int64_t direct_tokens = 0;  ///< tokens from ordinary decoding or prefill
  std::int64_t preemptions = 0;

  [[nodiscard]] std::int64_t context() const { return prompt + generated; }
  /// Tokens of the context whose KV there is: all but those that a stored prefix gave up.
  [[nodiscard]] std::int64_t attended() const { return context() - prefix.dropped; }
  [[nodiscard]] std::int64_t remaining() const { return output - generated; }
};

}  // namespace kvsim::serving
