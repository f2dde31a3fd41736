// The field table of schedule, and what its engine says where the scenario does not.
#include <string>

#include <fmt/format.h>

#include "models/engines/engine_spec.h"
#include "models/schemas.h"
#include "sim/scenario/schemas.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/schedule_policy.h"

namespace kvsim::scenario {

using schema::boolean;
using schema::choice;
using schema::integer;
using schema::number;
using schema::ObjectSchema;
using schema::one_of;
using schema::Presence;
using schema::Reporter;
using schema::tokens;

namespace {

ObjectSchema<serving::BatchWait> batch_wait_schema() {
  using serving::BatchWait;
  ObjectSchema<BatchWait> s("batch_wait", "Requests that could begin wait, while others decode, for more of them.");
  s.optional("iterations", &BatchWait::iterations, integer().non_negative().at_most(1 << 20),
             "at most so many (TensorRT-LLM: batch_wait_timeout_iters)");
  s.optional("tokens", &BatchWait::tokens, number().above(0).at_most(1),
             "until they and those who decode fill this share of max_batched_tokens (TensorRT-LLM: "
             "batch_wait_max_tokens_ratio)");
  s.optional("requests", &BatchWait::requests, integer().at_least(1).at_most(1e6),
             "until there are so many of them; by default however many");
  return s;
}

}  // namespace

ObjectSchema<serving::ScheduleConfig> schedule_schema() {
  using serving::ScheduleConfig;
  ObjectSchema<ScheduleConfig> s("schedule", "Which requests run, verify and load in which iteration.");
  s.optional("policy", &ScheduleConfig::policy, one_of(words_of(serving::schedule_policies())), "schedule policy");
  s.optional("window", &ScheduleConfig::window, integer().at_least(2).at_most(1 << 20),
             "iterations that the staggered schedule, and dispatch policy admit, look ahead");
  using serving::ReloadArrival;
  s.optional(
      "arrival", &ScheduleConfig::arrival,
      choice<ReloadArrival>(
          {{"layerwise", ReloadArrival::layerwise, "each layer's KV in time for that layer of the forward pass"},
           {"whole", ReloadArrival::whole, "all of it before the forward pass begins"}}),
      "how much of a reload must be there when its verification begins; by default layerwise, between pools whole");
  s.own_keys(serving::schedule_policies(), &ScheduleConfig::own, &ScheduleConfig::policy, "schedule policy");
  s.optional("max_requests", &ScheduleConfig::max_requests, integer().at_least(1).at_most(1e6),
             "requests running at once on a replica");
  s.optional("max_batched_tokens", &ScheduleConfig::max_batched_tokens, integer().at_least(1).at_most(1e8),
             "tokens of one iteration, decoding and prefill chunks together");
  s.optional("block_size", &ScheduleConfig::block_tokens, tokens().at_least(1).at_most(65536),
             "KV is allocated in blocks of this many tokens");
  s.optional(
      "asynchronous", &ScheduleConfig::asynchronous, boolean(),
      "an iteration is decided while the one before it runs: arrivals and places that fall free in that time are "
      "seen one iteration later");
  s.optional("receive_interval", &ScheduleConfig::receive_interval, integer().at_least(1).at_most(1 << 20),
             "iterations that decode and nothing else between two looks at new requests; after one with a chunk, and "
             "where nothing decodes, they are seen at once (SGLang: scheduler-recv-interval)");
  s.object("batch_wait", &ScheduleConfig::batch_wait, batch_wait_schema(), Presence::optional,
           "how long requests that could begin are held back while others decode; by default not at all");
  s.optional("blocking_loads", &ScheduleConfig::blocking_loads, boolean(),
             "an iteration waits for the KV of stored prompts that enter with it, and all who decode with it "
             "(LMCache below vLLM unless enable_async_loading); by default it comes beside iterations");
  s.optional("prefix_caching", &ScheduleConfig::prefix_caching, boolean(),
             "blocks that a prompt has in common with earlier ones are in GPU memory once, and are not computed again "
             "where they are still there (vLLM: enable_prefix_caching)");
  s.optional("prefill_order", &ScheduleConfig::prefill_order, models::prefill_order_words(),
             "how prompts and decoding share iterations; by default mixed");
  s.optional("reserve", &ScheduleConfig::reservation, models::kv_reservation_words(),
             "GPU memory that a request must find, and takes, before its first chunk; by default prompt");
  s.optional("preempted", &ScheduleConfig::preempted, models::preempted_kv_words(),
             "what becomes of the KV of a preempted request; by default dropped");
  s.reference("engine", &ScheduleConfig::engine, "engine", models::engine_schema(), Presence::optional,
              "serving engine that says what this map does not: max_batched_tokens, max_requests, block_size, "
              "asynchronous, prefill_order, reserve and preempted; which kernels are fused "
              "(cluster.gpu.profile.fused), and what GPU memory it takes (cluster.gpu.activations)");
  return s;
}

void add_schedule_rules(ObjectSchema<Written>& scenario) {
  scenario.unread({"schedule.window"}, [](const Written& s) {
    const auto& pools = s.serving.cluster.pools;
    const std::string& policy = s.serving.schedule.policy;
    return policy == "staggered" || (pools && pools->dispatch.policy == "admit")
               ? ""
               : fmt::format("schedule policy {} does not look ahead: use staggered", policy);
  });
  scenario.unread({"schedule.arrival"}, [](const Written& s) {
    const serving::DecodePolicy decode = serving::configured_policy(s.serving);
    if (decode.verifies && !decode.keeps_full && !decode.as_found()) return std::string();
    if (decode.as_found()) return std::string("drafts read prompts as they were found, and the full KV comes whole");
    return fmt::format("decode policy {} reloads nothing that a verification waits for", decode.name);
  });
  scenario.unread({"schedule.blocking_loads"}, [](const Written& s) {
    return s.serving.prefill == serving::PrefillKind::recompute
               ? "prompts are computed, not loaded: use prefill: stored"
               : "";
  });
  scenario.unread({"schedule.batch_wait.tokens", "schedule.batch_wait.requests"}, [](const Written& s) {
    return s.serving.schedule.batch_wait.iterations > 0 ? ""
                                                        : "nobody is held back: give schedule.batch_wait.iterations";
  });
  scenario.unread({"schedule.preempted"}, [](const Written& s) {
    const serving::ScheduleConfig& c = s.serving.schedule;
    if (s.pools && !c.engine && !c.reserves_prompt()) {
      return "between pools requests have all of their memory from the beginning: give reserve: prompt";
    }
    return s.serving.schedule.reserves_output() ? "with reserve: prompt_and_output nobody is preempted" : "";
  });
}

void complete_schedule(Scenario& s, const Reporter& report) {
  serving::ScheduleConfig& c = s.serving.schedule;
  if (!c.engine) return;
  const auto unless_said = [&report](const std::string& path, auto& to, const auto& figure) {
    if (!report.node().find_path(path)) to = figure.value;
  };
  const auto unless_written = [&](const char* key, auto& to, const auto& figure) {
    unless_said(std::string("schedule.") + key, to, figure);
  };
  unless_written("max_batched_tokens", c.max_batched_tokens, c.engine->max_batched_tokens);
  if (c.engine->max_requests.value > 0) unless_written("max_requests", c.max_requests, c.engine->max_requests);
  unless_written("block_size", c.block_tokens, c.engine->block_tokens);
  unless_written("asynchronous", c.asynchronous, c.engine->asynchronous);
  unless_written("prefill_order", c.prefill_order, c.engine->prefill_order);
  unless_written("reserve", c.reservation, c.engine->reservation);
  unless_written("preempted", c.preempted, c.engine->preempted);
  for (serving::GroupConfig& group : s.serving.cluster.groups) {
    const std::string profile = group.gpu_key + ".profile";
    models::FusedKernels& fused = group.profile.fused;
    unless_said(profile + ".fused.norms", fused.norms, c.engine->fused_norms);
    unless_said(profile + ".fused.quantise", fused.quantise, c.engine->fused_quantise);
    models::LaunchCosts& launch = group.profile.launch;
    unless_said(profile + ".launch.chunks_captured", launch.chunks_captured, c.engine->captures_chunks);
    unless_said(profile + ".launch.by_requests", launch.by_requests, c.engine->captures_requests);
    if (c.engine->kernel_launch_s.value > 0 && !report.node().find_path(profile + ".launch.kernel")) {
      launch.kernel_s = c.engine->kernel_launch_s;
    }
  }
}

}  // namespace kvsim::scenario
