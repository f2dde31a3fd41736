#include "models/engines/engine_spec.h"

#include "models/schema/object_schema.h"
#include "models/schemas.h"

namespace kvsim::models {

using namespace schema;

ScalarSpec prefill_order_words() {
  return choice<PrefillOrder>(
      {{"mixed", PrefillOrder::mixed, "chunks of prompts beside a token of every decoding request"},
       {"prefill_first", PrefillOrder::prefill_first,
        "as long as there is a prompt to compute, iterations compute prompts alone and decoding waits"}});
}

ScalarSpec kv_reservation_words() {
  return choice<KvReservation>(
      {{"prompt", KvReservation::prompt,
        "of its prompt; where there is no memory for what is generated, the newest request is preempted"},
       {"prompt_and_output", KvReservation::prompt_and_output,
        "of all its tokens: it waits until they fit, and is never preempted"}});
}

ScalarSpec preempted_kv_words() {
  return choice<PreemptedKv>(
      {{"dropped", PreemptedKv::dropped, "it falls free, and all of it is computed again"},
       {"cached", PreemptedKv::cached,
        "its full blocks fall free, too, but are found again unless their room was taken meanwhile: what fell free "
        "first is taken first, of one request from its end. Where the full KV is in GPU memory and prompts are "
        "computed there; else as dropped"}});
}

namespace {

ObjectSchema<EngineSpec> engine_fields() {
  ObjectSchema<EngineSpec> s("engine", "A serving engine: what its scheduler does where nobody tells it otherwise.");
  add_entry_fields(s);
  s.required("max_batched_tokens", &EngineSpec::max_batched_tokens, integer().at_least(1).at_most(1e8),
             "tokens of one iteration; prefill_first: of one that computes prompts");
  s.optional("max_requests", &EngineSpec::max_requests, integer().non_negative().at_most(1e6),
             "requests running at once; left out or 0: what schedule.max_requests says");
  s.required("block_size", &EngineSpec::block_tokens, tokens().at_least(1).at_most(65536),
             "KV is allocated in blocks of this many tokens");
  s.required("asynchronous", &EngineSpec::asynchronous, boolean(),
             "an iteration is decided while the one before it runs");
  s.required("prefill_order", &EngineSpec::prefill_order, prefill_order_words(),
             "how prompts and decoding share iterations");
  s.required("reserve", &EngineSpec::reservation, kv_reservation_words(),
             "GPU memory that a request takes before its first chunk");
  s.required("preempted", &EngineSpec::preempted, preempted_kv_words(),
             "what becomes of the KV of a preempted request");
  s.optional("kernels", &EngineSpec::kernels, text(),
             "whose linear layers and attention it runs, as profile.by_engine names them: vllm, sglang, trtllm; left "
             "out: the profile's, whosever");
  s.optional("fused_norms", &EngineSpec::fused_norms, boolean(),
             "norms are a part of the all-reduce before them, where GPUs share a layer");
  s.optional("fused_quantise", &EngineSpec::fused_quantise, boolean(),
             "quantising the inputs of narrow linear layers is a part of the kernel before");
  s.optional("kernel_launch", &EngineSpec::kernel_launch_s, time().non_negative().at_most(1),
             "launching one kernel of an iteration that is no captured graph; left out or 0: what the profile says");
  s.optional("captures_chunks", &EngineSpec::captures_chunks, boolean(),
             "captured graphs serve iterations with chunks of prompts, too; false: only those that decode");
  s.optional("captures_requests", &EngineSpec::captures_requests, boolean(),
             "graphs of steps that verify drafts are captured by their requests, not by their tokens");
  s.object("drafts", &EngineSpec::drafts, draft_costs_schema(), Presence::optional,
           "what drafting costs it beside kernels; left out: what it costs vllm");
  s.list("quantised", &EngineSpec::quantised, quantised_kernel_schema(), Presence::optional,
         "its attention over quantised KV, by compressor; left out: as vllm's");
  s.optional("tokenise", &EngineSpec::tokenise_s, time().non_negative().at_most(1),
             "turning the text of a prompt into one of its tokens, before the scheduler sees the request: one prompt "
             "after another on one thread a replica, whichever of several replicas' threads is free; left out or 0: no "
             "time");
  s.object("memory", &EngineSpec::memory, engine_memory_schema(), Presence::optional,
           "GPU memory beside weights and KV; left out: as vllm's");
  return s;
}

}  // namespace

const ObjectSchema<EngineSpec>& engine_schema() {
  static const ObjectSchema<EngineSpec> schema = engine_fields();
  return schema;
}

}  // namespace kvsim::models
