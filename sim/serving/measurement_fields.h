// Every measured field, listed once: its name, and how those of two runs become one. Merging and comparing measurements
// go through this list, so that a field is known to both or does not compile.
#pragma once

#include <cstddef>
#include <tuple>

#include "sim/serving/measurements.h"

namespace kvsim::serving {

/// How a field of two runs becomes one.
enum class Merge : std::uint8_t {
  join,     ///< numbers add up, samples and verdicts follow each other; parts and maps field by field, key by key
  largest,  ///< peaks
  mean,     ///< over time: weighted by the capacity_s beside it
  none      ///< of a single run: the first one's stays
};

template <class Owner, class T, Merge how>
struct Field {
  const char* name;
  T Owner::*member;
  static constexpr Merge merge = how;
};

template <Merge how = Merge::join, class Owner, class T>
constexpr Field<Owner, T, how> field(const char* name, T Owner::*member) {
  return {name, member};
}

constexpr auto fields_of(const TokenSlices*) {
  using M = TokenSlices;
  return std::tuple{field("length_s", &M::length_s), field("tokens", &M::tokens)};
}

constexpr auto fields_of(const transport::LinkTotals*) {
  using M = transport::LinkTotals;
  return std::tuple{field("busy_s", &M::busy_s), field("capacity_s", &M::capacity_s), field("bytes", &M::bytes),
                    field("wait_s", &M::wait_s), field("transfers", &M::transfers),   field("links", &M::links)};
}

constexpr auto fields_of(const TierMeasurement*) {
  using M = TierMeasurement;
  return std::tuple{field("hits", &M::hits), field("misses", &M::misses), field("evictions", &M::evictions),
                    field<Merge::largest>("bytes_peak", &M::bytes_peak)};
}

constexpr auto fields_of(const PathMeasurement*) {
  using M = PathMeasurement;
  return std::tuple{field("started", &M::started), field("completed", &M::completed),
                    field("output_tokens", &M::output_tokens)};
}

constexpr auto fields_of(const PoolMeasurement*) {
  using M = PoolMeasurement;
  return std::tuple{field("capacity_s", &M::capacity_s),
                    field("busy_s", &M::busy_s),
                    field("iterations", &M::iterations),
                    field("decode_tokens", &M::decode_tokens),
                    field("draft_tokens", &M::draft_tokens),
                    field("verifications", &M::verifications),
                    field("verified_tokens", &M::verified_tokens),
                    field("prefill_tokens", &M::prefill_tokens),
                    field<Merge::mean>("reserved_mean_bytes", &M::reserved_mean_bytes),
                    field<Merge::largest>("reserved_peak_bytes", &M::reserved_peak_bytes)};
}

constexpr auto fields_of(const PrefixMeasurement*) {
  using M = PrefixMeasurement;
  return std::tuple{field("loaded_tokens", &M::loaded_tokens), field("on_node_tokens", &M::on_node_tokens),
                    field("joined_tokens", &M::joined_tokens), field("prefilled_tokens", &M::prefilled_tokens)};
}

constexpr auto fields_of(const ReuseMeasurement*) {
  using M = ReuseMeasurement;
  return std::tuple{field("prompts", &M::prompts),
                    field("chunk_tokens", &M::chunk_tokens),
                    field("loaded_tokens", &M::loaded_tokens),
                    field("apart_tokens", &M::apart_tokens),
                    field("recomputed_tokens", &M::recomputed_tokens),
                    field("other_tokens", &M::other_tokens),
                    field("queue_s", &M::queue_s),
                    field("load_s", &M::load_s),
                    field("select_s", &M::select_s),
                    field("assemble_s", &M::assemble_s),
                    field("prefill_s", &M::prefill_s),
                    field("scorers_busy_s", &M::scorers_busy_s),
                    field("verified_tokens", &M::verified_tokens),
                    field("first_drafts", &M::first_drafts),
                    field("first_draft_s", &M::first_draft_s),
                    field("selections_longer", &M::selections_longer)};
}

constexpr auto fields_of(const AnswerMeasurement*) {
  using M = AnswerMeasurement;
  return std::tuple{field("answers", &M::answers), field("score", &M::score), field("full_score", &M::full_score),
                    field("good", &M::good)};
}

constexpr auto fields_of(const FetchMeasurement*) {
  using M = FetchMeasurement;
  return std::tuple{field("steps", &M::steps),
                    field("bytes", &M::bytes),
                    field("unused_bytes", &M::unused_bytes),
                    field("fetch_s", &M::fetch_s),
                    field("wait_s", &M::wait_s),
                    field("waiting_steps", &M::waiting_steps),
                    field("request_steps", &M::request_steps),
                    field("context_tokens", &M::context_tokens),
                    field("first_choices", &M::first_choices)};
}

constexpr auto fields_of(const DrafterMeasurement*) {
  using M = DrafterMeasurement;
  return std::tuple{field("steps", &M::steps), field("proposed_tokens", &M::proposed_tokens),
                    field("accepted_tokens", &M::accepted_tokens), field("gpu_s", &M::gpu_s)};
}

constexpr auto fields_of(const TierContents*) {
  using M = TierContents;
  return std::tuple{field("objects", &M::objects), field("bytes", &M::bytes), field("full_bytes", &M::full_bytes),
                    field("whole_bytes", &M::whole_bytes), field("options", &M::options)};
}

constexpr auto fields_of(const DatasetMeasurement*) {
  using M = DatasetMeasurement;
  return std::tuple{field("requests", &M::requests), field("ttft_s", &M::ttft_s), field("quality", &M::quality)};
}

constexpr auto fields_of(const PlacementMeasurement*) {
  using M = PlacementMeasurement;
  return std::tuple{field("loaded_tokens", &M::loaded_tokens),
                    field("computed_tokens", &M::computed_tokens),
                    field("loads", &M::loads),
                    field("joined_loads", &M::joined_loads),
                    field("stores", &M::stores),
                    field("unstored", &M::unstored),
                    field("promotions", &M::promotions),
                    field("demotions", &M::demotions),
                    field("recompressions", &M::recompressions),
                    field("drops", &M::drops),
                    field("moved_bytes", &M::moved_bytes),
                    field("whole_loads", &M::whole_loads),
                    field("whole_bytes", &M::whole_bytes),
                    field("profiled", &M::profiled),
                    field("profiled_tokens", &M::profiled_tokens),
                    field("quality", &M::quality),
                    field("contents", &M::contents),
                    field("datasets", &M::datasets)};
}

constexpr auto fields_of(const DraftLengthMeasurement*) {
  using M = DraftLengthMeasurement;
  return std::tuple{field("rounds", &M::rounds), field("expected_tokens", &M::expected_tokens),
                    field("best_tokens", &M::best_tokens)};
}

constexpr auto fields_of(const SessionMeasurement*) {
  using M = SessionMeasurement;
  return std::tuple{field("begun", &M::begun),
                    field("cut", &M::cut),
                    field("under_way", &M::under_way),
                    field("alone", &M::alone),
                    field("finished", &M::finished),
                    field("turns", &M::turns),
                    field("sub_agents_begun", &M::sub_agents_begun),
                    field("sub_agents_cut", &M::sub_agents_cut),
                    field("sub_agents_under_way", &M::sub_agents_under_way)};
}

constexpr auto fields_of(const ClassMeasurement*) {
  using M = ClassMeasurement;
  return std::tuple{field("completed", &M::completed), field("within_slo", &M::within_slo), field("ttft_s", &M::ttft_s),
                    field("tpot_s", &M::tpot_s), field("e2e_s", &M::e2e_s)};
}

constexpr auto fields_of(const Measurements*) {
  using M = Measurements;
  return std::tuple{field("arrived", &M::arrived),
                    field("completed", &M::completed),
                    field("refused", &M::refused),
                    field("running", &M::running),
                    field("preemptions", &M::preemptions),
                    field("measured_s", &M::measured_s),
                    field("arrived_measured", &M::arrived_measured),
                    field("waiting_before", &M::waiting_before),
                    field("waiting_after", &M::waiting_after),
                    field("runs_past_arrivals", &M::runs_past_arrivals),
                    field("completed_measured", &M::completed_measured),
                    field("tokenising_s", &M::tokenising_s),
                    field("tokenisers_s", &M::tokenisers_s),
                    field("output_tokens", &M::output_tokens),
                    field("prompt_tokens", &M::prompt_tokens),
                    field("ttft_s", &M::ttft_s),
                    field("tpot_s", &M::tpot_s),
                    field("e2e_s", &M::e2e_s),
                    field("largest_gap_s", &M::largest_gap_s),
                    field("itl_s", &M::itl_s),
                    field("round_gap_s", &M::round_gap_s),
                    field("within_slo", &M::within_slo),
                    field("within_percentile", &M::within_percentile),
                    field("good", &M::good),
                    field("verdicts", &M::verdicts),
                    field("rounds", &M::rounds),
                    field("drafted_tokens", &M::drafted_tokens),
                    field("accepted_tokens", &M::accepted_tokens),
                    field("rejected_tokens", &M::rejected_tokens),
                    field("corrections", &M::corrections),
                    field("direct_tokens", &M::direct_tokens),
                    field("draft_lengths", &M::draft_lengths),
                    field("late_reloads", &M::late_reloads),
                    field("stalled_request_iterations", &M::stalled_request_iterations),
                    field("late_request_iterations", &M::late_request_iterations),
                    field("drafting_request_iterations", &M::drafting_request_iterations),
                    field("verifying_request_iterations", &M::verifying_request_iterations),
                    field("kl_nats", &M::kl_nats),
                    field("quality", &M::quality),
                    field("functional", &M::functional),
                    field("same_output", &M::same_output),
                    field("iteration_s", &M::iteration_s),
                    field("extrapolated_iterations", &M::extrapolated_iterations),
                    field("launched_iterations", &M::launched_iterations),
                    field("busy_s", &M::busy_s),
                    field("bound_s", &M::bound_s),
                    field("saved_s", &M::saved_s),
                    field("link_bound_s", &M::link_bound_s),
                    field("link_saved_s", &M::link_saved_s),
                    field("front_end_s", &M::front_end_s),
                    field("idle_s", &M::idle_s),
                    field("memory_short_s", &M::memory_short_s),
                    field("capacity_s", &M::capacity_s),
                    field<Merge::largest>("hbm_peak_bytes", &M::hbm_peak_bytes),
                    field<Merge::largest>("hbm_reserved_peak_bytes", &M::hbm_reserved_peak_bytes),
                    field<Merge::mean>("hbm_mean_bytes", &M::hbm_mean_bytes),
                    field<Merge::mean>("kv_reserved_mean_bytes", &M::kv_reserved_mean_bytes),
                    field<Merge::mean>("kv_streaming_mean_bytes", &M::kv_streaming_mean_bytes),
                    field<Merge::largest>("kv_reserved_peak_bytes", &M::kv_reserved_peak_bytes),
                    field<Merge::largest>("kv_streaming_peak_bytes", &M::kv_streaming_peak_bytes),
                    field("links", &M::links),
                    field("tiers", &M::tiers),
                    field("drafter", &M::drafter),
                    field("fetch", &M::fetch),
                    field("placement", &M::placement),
                    field("reuse", &M::reuse),
                    field("answers", &M::answers),
                    field("sessions", &M::sessions),
                    field("session_s", &M::session_s),
                    field("first_turn_ttft_s", &M::first_turn_ttft_s),
                    field("later_turn_ttft_s", &M::later_turn_ttft_s),
                    field("session_think_s", &M::session_think_s),
                    field("sub_agent_s", &M::sub_agent_s),
                    field("classes", &M::classes),
                    field("paths", &M::paths),
                    field("pools", &M::pools),
                    field("prefix", &M::prefix),
                    field("events", &M::events),
                    field<Merge::none>("tokens_by_slice", &M::tokens_by_slice)};
}

namespace internal {

/// Converts to any member of an aggregate; never evaluated.
struct Anything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};

/// The number of members of an aggregate.
template <class T, class... Members>
constexpr std::size_t member_count() {
  if constexpr (requires { T{Members{}..., Anything{}}; }) {
    return member_count<T, Members..., Anything>();
  } else {
    return sizeof...(Members);
  }
}

}  // namespace internal

/// What has fields of its own.
template <class T>
concept Measured = requires {
  fields_of(static_cast<const T*>(nullptr));
};

/// Calls `visit` with every Field of M, in order.
template <Measured M, class Visit>
void for_each_field(Visit&& visit) {
  constexpr auto fields = fields_of(static_cast<const M*>(nullptr));
  static_assert(std::tuple_size_v<decltype(fields)> == internal::member_count<M>(),
                "every member is listed in fields_of, once");
  std::apply([&visit](const auto&... each) { (visit(each), ...); }, fields);
}

/// a += b, as if b had been measured beside a: field by field, as measurement_fields.h says.
void merge(Measurements& a, const Measurements& b);

}  // namespace kvsim::serving
