// A serving engine as data: what its scheduler does where nobody tells it otherwise. Every rule has its source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/engines/engine_memory.h"
#include "models/kernels/profile.h"
#include "models/schema/scalar_spec.h"
#include "models/schema/sourced.h"

namespace kvsim::models {

/// How the prompts of new requests and the tokens of decoding ones share iterations.
enum class PrefillOrder {
  mixed,         ///< chunks of prompts beside a token of every decoding request
  prefill_first  ///< as long as there is a prompt to compute, iterations compute prompts alone and decoding waits
};

/// GPU memory that a request must find, and takes, before its first chunk.
enum class KvReservation {
  prompt,            ///< of its prompt; what it generates takes more, and where there is none the newest is preempted
  prompt_and_output  ///< of all its tokens: whoever has begun is never preempted
};

/// Outcome for the KV of a request that is preempted while it decodes, or computes its prompt.
enum class PreemptedKv {
  dropped,  ///< all of it is recomputed
  cached    ///< its full blocks stay until their room is taken, and what is left of them is not recomputed
};

struct EngineSpec {
  std::string name;
  std::string description;
  schema::Sourced<std::int64_t> max_batched_tokens;  ///< of an iteration
  schema::Sourced<std::int64_t> block_tokens;        ///< KV is allocated in blocks of this many tokens
  schema::Sourced<std::int64_t> max_requests;        ///< running at once; 0: the engine has no default of its own
  schema::Sourced<bool> asynchronous;                ///< an iteration is decided while the one before it runs
  schema::Sourced<PrefillOrder> prefill_order;
  schema::Sourced<KvReservation> reservation;
  schema::Sourced<PreemptedKv> preempted;
  std::string kernels;  ///< whose linear layers and attention it runs, as kernel tables name them; empty: nobody's
                        ///< in particular, a profile's
  // Kernels that take no time of their own (FusedKernels); by default those of vLLM, which profiles were fitted to.
  schema::Sourced<bool> fused_norms{};
  schema::Sourced<bool> fused_quantise{};
  // How kernels of iterations that are not captured are launched (LaunchCosts).
  schema::Sourced<double> kernel_launch_s{};        ///< 0: what the profile says
  schema::Sourced<bool> captures_chunks{true, {}};  ///< also of iterations with chunks of prompts
  schema::Sourced<bool> captures_requests{};        ///< LaunchCosts::by_requests
  std::optional<DraftCosts> drafts{};               ///< none: as the usual kernels' engine has them
  std::vector<QuantisedKernel> quantised{};         ///< its attention over quantised KV; none: as that engine has it
  schema::Sourced<double>
      tokenise_s{};  ///< a token of a prompt's text, before the scheduler sees it; one thread a server
  std::optional<EngineMemory> memory{};  ///< GPU memory beside weights and KV; none: as that of default_engine_memory
};

/// The catalogue's engine whose memory counts where the scenario names no engine, or one without `memory`.
inline constexpr const char* default_engine_memory = "vllm";

// The words for the three, for the tables of engines and of schedules alike.
[[nodiscard]] schema::ScalarSpec prefill_order_words();
[[nodiscard]] schema::ScalarSpec kv_reservation_words();
[[nodiscard]] schema::ScalarSpec preempted_kv_words();

}  // namespace kvsim::models
