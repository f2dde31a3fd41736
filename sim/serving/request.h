// A request on its way through a replica.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "models/acceptance/acceptance.h"
#include "models/workload/request_source.h"
#include "sim/engine/on_demand.h"
#include "sim/engine/random.h"
#include "sim/engine/time.h"
#include "sim/serving/kv_holdings.h"
#include "sim/transport/link.h"

namespace kvsim::serving {

// Evidence that a request keeps of its own drafts, for the policies that choose how many tokens its next round drafts.

/// Outcomes of drafted tokens. A round tells of each accepted token, and of the one that ended it: those behind the
/// first mismatch say nothing.
struct AgreementEvidence {
  double accepted = 0;
  double trials = 0;

  /// One more round; what was known before weighs `forgetting` of what it did.
  void add_round(std::int64_t drafted, std::int64_t accepted_now, double forgetting);

  /// The maximum-likelihood agreement of a geometric law, with `prior` further trials of mean `mean`. Precondition:
  /// prior > 0.
  [[nodiscard]] double agreement(double prior, double mean) const;

  /// S(1..count) as expected over the Beta distribution that evidence and prior give, written to `s`; what follows a
  /// negligible one is left alone.
  void survival(double prior, double mean, std::int64_t count, double* s) const;

  /// The first i of `from`, from + 1, ..., `most` of which S(i + 1) <= `price`, or most.
  [[nodiscard]] std::int64_t worth(double prior, double mean, double price, std::int64_t from, std::int64_t most) const;
};

struct DraftState {
  AgreementEvidence evidence;
  std::int64_t chosen = 0;  ///< draft length of the round under way (proposals: of the coming step), before what is
                            ///< left to generate limits it
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();  ///< most positions of the round while it waits
  double overhead = 1;                                            ///< expected then: DraftEstimate::overhead
  std::int64_t hidden = 0;                                        ///< expected then: DraftEstimate::hidden
  engine::SimTime complete_at;                                    ///< all of its draft was there
  engine::SimTime reload_at;                                      ///< its reload was asked for
};

enum class Phase : std::uint8_t {
  queued,      ///< waiting for admission; holds no GPU memory
  loading,     ///< its stored KV is on the way to the GPU
  prefilling,  ///< its KV is being computed
  decoding,    ///< generates tokens (drafts and verifications included)
  finished,
  refused  ///< could never run on this cluster
};

/// Where the full KV for a request's next verification is.
enum class Reload : std::uint8_t {
  none,       ///< in host memory or on a storage node, not asked for
  wished,     ///< it starts when its time has come
  in_flight,  ///< on the link or queued for it; its GPU memory is reserved
  arrived     ///< in GPU memory, together with the compressed KV or instead of it
};

/// Action of a decoding request in an iteration, under a policy that verifies.
enum class Action : std::uint8_t {
  stall,  ///< takes no part in this iteration
  draft,  ///< one token against the compressed KV
  verify  ///< all drafted tokens against the full KV, which must have arrived
};

/// Part of a prompt that was found in a prompt store, from its first token on.
struct StoredPrefix {
  std::int64_t tokens = 0;   ///< positions that need no computing; 0: nothing was stored
  std::int64_t dropped = 0;  ///< of these, tokens whose KV was dropped: neither loaded nor attended to
  double unpack_s = 0;       ///< GPU time of turning it into 16-bit KV
  double quality = 1;        ///< relative task score of a request that continues from it
  double step_kl = 0;        ///< nats per decoding step against the whole KV; NaN where unknown
  /// Where decoding with it is verified: tokens whose KV a verification has to bring (what was dropped, all of what was
  /// quantised), and the agreement per token of drafts on it.
  std::int64_t missing = 0;
  double agreement = 1;

  friend bool operator==(const StoredPrefix&, const StoredPrefix&) = default;
};

/// Computation of a prompt whose KV is put together from chunks (sim/reuse). Chunks that are not stored are computed
/// alone, and a small model chooses tokens. Those are computed over the whole prompt, with all that follows the
/// chunks.
struct PromptAssembly {
  std::int64_t apart = 0;          ///< tokens of chunks that are computed alone
  std::int64_t apart_unit = 0;     ///< tokens of each of these
  bool selects = false;            ///< tokens have to be chosen first
  std::int64_t scored_here = 0;    ///< tokens that the small model reads on this replica's GPUs; 0: elsewhere
  std::int64_t scoring_bytes = 0;  ///< GPU memory that this takes
  double align_s = 0;              ///< from the last score on this replica's GPUs to the choice
  std::int64_t rows = 0;           ///< tokens computed over the whole prompt, at least one
  double before = 0;               ///< KV tokens that the first of them attends to, beside itself; one more each
  double recover_s = 0;            ///< GPU time of moving stored KV to its positions
  double first_layer_s = 0;        ///< GPU time of one layer of all other tokens, beside the rows
};

/// How far the latest admission of a request has come with its assembly; Assembly writes it.
class AssemblyProgress {
 public:
  /// Until its rows can be computed; its phase is loading.
  [[nodiscard]] bool underway() const { return underway_; }
  /// Events will come for an admission that is over.
  [[nodiscard]] bool awaits_stale() const { return stale_selections_ > 0; }

 private:
  friend class Assembly;
  bool underway_ = false;
  bool load_pending_ = false;           // stored chunks are on their way
  bool selection_pending_ = false;      // tokens are not chosen yet
  bool selection_event_ = false;        // an event will say so
  std::int64_t apart_done_ = 0;         // of PromptAssembly::apart
  std::int64_t scored_ = 0;             // of PromptAssembly::scored_here
  std::uint64_t stale_selections_ = 0;  // such events for an admission that is over
  engine::SimTime admitted_;
  engine::SimTime loaded_;     // all stored chunks were there
  engine::SimTime selected_;   // its tokens were chosen
  engine::SimTime assembled_;  // its rows could be computed
};

class UniformBatch;

/// Whether a request takes part in the same step again and again with others; UniformBatch writes it. Its state is then
/// written into it only on request: UniformBatch::update().
class UniformPlace {
 private:
  friend class UniformBatch;
  const UniformBatch* batch_ = nullptr;
  std::uint32_t member_ = 0;  // its number there
  bool drafts_ = false;       // else it decodes
};

class Scheduling;

/// Action of a request in each iteration until its schedule is asked about it again; Scheduling writes it.
class ScheduledPlace {
 private:
  friend class Scheduling;
  Action action_ = Action::stall;
  bool decided_ = false;         // else the action is of no meaning
  bool late_ = false;            // its round was, when that was decided
  bool asked_ = false;           // in the coming iteration
  bool whatever_comes_ = false;  // Decision's
  std::uint64_t ends_ = 0;       // its place in the order of decisions that end with an iteration; 0: it has none
};

/// A request's round of drafting and verifying, the current one.
struct DraftRound {
  std::int64_t drafted = 0;
  std::int64_t target = 0;
  bool late = false;  ///< its verification had to wait for its reload
  Reload reload = Reload::none;
  bool arriving = false;        ///< in flight, and each layer's KV in time for a verification that starts now
  bool away = false;            ///< drafts are made at another instance, and this round's are not all here yet
  bool kept = false;            ///< verified where its full KV stays
  bool ended_accepted = false;  ///< the last round gave no token of the verifier's own: all that was left was accepted
  bool pairs_asked = false;     ///< speculative prefetch: the step before chose the pairs of the coming one
  std::int64_t unseen = 0;      ///< tokens at the request's end that an auxiliary drafter has not read yet
  /// Tokens of its prompt computed over what had been loaded compressed: the next verification recomputes them.
  std::int64_t tail = 0;
  engine::SimTime first_draft;          ///< the request's first token was drafted
  engine::SimTime due;                  ///< drafts made at another instance are expected where they are verified
  engine::OnDemand<DraftState> length;  ///< as chosen, and what was known of earlier ones
};

/// Transfers of a request's KV.
struct KvMoving {
  transport::TransferId transfer;   ///< first load or reload
  std::int64_t loading_bytes = 0;   ///< of its first load
  std::int64_t in_host_tokens = 0;  ///< tokens whose full KV is in host memory or on its way there
  std::uint32_t writebacks = 0;     ///< to host memory, or a storage node
  std::uint16_t stale_loads = 0;    ///< first loads for an admission that is over
  std::uint16_t stale_reloads = 0;  ///< reloads for one that is over
};

/// Source from which the number of accepted tokens of a request is drawn.
struct AcceptanceSampler {
  engine::RandomStream stream;
  models::RequestAcceptance acceptance;
};

/// RequestSamplers decides on a request's drafts, and on the tokens of an auxiliary drafter.
struct RequestSamplers {
  std::unique_ptr<AcceptanceSampler> drafts;   ///< of its drafts; null: nothing is verified
  std::unique_ptr<AcceptanceSampler> drafter;  ///< of an auxiliary drafter's tokens; null: there is none
};

/// Prefill says how far a request's prompt is computed.
struct Prefill {
  std::int64_t target = 0;                       ///< tokens whose KV must exist before decoding
  std::int64_t done = 0;                         ///< of which exist; while it waits, that may still be found
  std::int64_t recomputed = 0;                   ///< of these, recomputed whole for a verification (FullKvSource)
  std::unique_ptr<PromptAssembly> assembly;      ///< how the latest admission puts it together; null: simply prefilled
  std::unique_ptr<AssemblyProgress> assembling;  ///< of that; null: it never was
};

/// FullKvPlace says where a request's full KV is.
struct FullKvPlace {
  bool resident = false;         ///< pinned: it stays in GPU memory
  bool offload_pending = false;  ///< prefilled, but still on the way to host memory
  bool had_prompt = false;       ///< its prompt's KV has been available, at this admission or an earlier one
  /// Under a policy that verifies: it is in GPU memory to stay, and the request decodes with that, without drafts.
  bool direct = false;
};

/// When a request's tokens came, and how.
struct TokenRecord {
  engine::SimTime first_token;
  engine::SimTime last_token;
  double largest_gap_s = 0;
  std::int64_t drafted_tokens = 0;
  std::int64_t accepted_tokens = 0;
  std::int64_t corrections = 0;    ///< tokens the verifier itself gave: first mismatch or bonus
  std::int64_t direct_tokens = 0;  ///< tokens from ordinary decoding or prefill
};

/// State of a request. Parts that only some requests need lie apart: many requests may wait at once.
struct Request {
  std::uint64_t id = 0;
  engine::SimTime arrival;
  std::int64_t prompt = 0;
  std::int64_t output = 0;     ///< tokens to generate
  std::int64_t generated = 0;  ///< tokens emitted: final, verified by the full KV under a lossless policy

  Phase phase = Phase::queued;
  FullKvPlace full_kv;
  std::uint16_t kind = 0;       ///< of ServingConfig::classes
  std::int32_t replica = -1;    ///< that serves it, from 0; -1: nodes of pools do
  std::int32_t judged = -1;     ///< place in Measurements::verdicts; below 0: not judged
  std::uint64_t admission = 0;  ///< order of the latest admission: the newest is preempted first
  Prefill prefill;
  engine::OnDemand<StoredPrefix> prefix;  ///< what of its prompt was loaded at the latest admission

  Residence kv;  ///< memory that it has reserved
  UniformPlace uniform_place;
  ScheduledPlace scheduled;

  DraftRound round;
  KvMoving moving;
  RequestSamplers samplers;
  engine::OnDemand<TokenRecord> record;

  [[nodiscard]] std::int64_t context() const { return prompt + generated; }
  /// Tokens of the context whose KV there is: all but those that a stored prefix gave up.
  [[nodiscard]] std::int64_t attended() const { return context() - prefix->dropped; }
  [[nodiscard]] std::int64_t remaining() const { return output - generated; }
  /// Verifications, of drafts or of proposed tokens: each gives a token of its own, but for a last one.
  [[nodiscard]] std::int64_t rounds() const { return record->corrections + (round.ended_accepted ? 1 : 0); }
  /// Its prompt is being put together, and its rows cannot be computed yet.
  [[nodiscard]] bool being_assembled() const { return prefill.assembling && prefill.assembling->underway(); }
  /// Whether something will still refer to it after its end.
  [[nodiscard]] bool referred_to() const {
    return moving.writebacks > 0 || moving.stale_loads > 0 ||
           (prefill.assembling && prefill.assembling->awaits_stale()) || moving.stale_reloads > 0;
  }
};

// Where a simulation gets its requests: a trace or a generator, one at a time, so that nothing is held in memory that
// has not arrived yet.

/// Next turns in a workload of sessions. The turn that follows on another one is known when that one is over.
class TurnFeed {
 public:
  virtual ~TurnFeed() = default;
  /// The first turns of sub-agents that the session's latest turn begins when it is over, before turn_over() is told.
  /// They come think_ns after that, with the session as their parent, whose next turn waits for the last of them to
  /// end.
  virtual std::vector<models::RequestSpec> begin_sub_agents(std::int64_t /*session*/) { return {}; }
  /// The session's latest turn is over. How long after that the next one comes, in ns; nothing: the session is over.
  virtual std::optional<std::int64_t> turn_over(std::int64_t session) = 0;
  /// The turn that turn_over() announced; its arrival time is not used.
  virtual models::RequestSpec next_turn(std::int64_t session) = 0;
  /// The latest turn was refused: no other comes.
  virtual void forget(std::int64_t session) = 0;
};

class RequestFeed {
 public:
  virtual ~RequestFeed() = default;
  /// The next request in order of arrival, or nothing at the end. In a closed loop the arrival time is not used.
  virtual std::optional<models::RequestSpec> next() = 0;
  /// Turns of requests that belong to sessions (next() gives their first turns); else null.
  [[nodiscard]] virtual TurnFeed* turns() { return nullptr; }
  /// Requests kept in the system at once (closed loop), or sessions under way; 0: they arrive at their own times
  /// (open).
  [[nodiscard]] virtual std::int64_t concurrency() const { return 0; }
  /// Tokens of each of RequestSpec::prefix_blocks; 0: the workload has none.
  [[nodiscard]] virtual std::int64_t prefix_block_tokens() const { return 0; }
};

}  // namespace kvsim::serving
