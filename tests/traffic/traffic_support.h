// Traces from laws and back, for the tests of fits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/schema/yaml.h"
#include "models/workload/trace_reader.h"
#include "planner/traffic/trace_writer.h"
#include "planner/traffic/traffic_fit.h"
#include "sim/engine/random.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner::traffic {

inline std::unique_ptr<models::RandomSource> stream(std::string_view name, std::uint64_t seed = 1) {
  return std::make_unique<models::RandomSourceOf<engine::RandomStream>>(engine::RandomStream(seed, name));
}

/// Draws of a law of lengths.
inline std::vector<std::int32_t> drawn(const models::LengthSpec& law, std::size_t n, std::uint64_t seed = 1) {
  const models::LengthSampler sampler(law);
  const auto random = stream("lengths", seed);
  std::vector<std::int32_t> lengths;
  for (std::size_t i = 0; i < n; ++i) lengths.push_back(static_cast<std::int32_t>(sampler.sample(*random)));
  return lengths;
}

/// A scenario with this workload, on machines that do not matter.
inline std::string scenario_with(const std::string& workload) {
  return "name: t\nmodel: llama-3.1-8b\ncluster: {gpu: {type: h100-sxm, activations: 0 B}}\n" + workload +
         "prefill: recompute\ndecode: {policy: full_kv}\nrun: {duration: 1 min, warmup: 0 s, seed: 3}\n";
}

inline std::string with_fit(const TrafficFit& fit) {
  return scenario_with(schema::to_yaml(workload_fragment(fit)));
}

/// The first requests of a scenario as a trace.
inline std::string trace_of(const std::string& scenario_text, std::string_view format, std::size_t n) {
  const scenario::Scenario s = scenario::load_scenario_text(scenario_text, "made.yaml");
  const auto feed = scenario::make_feed(s, s.serving.run.seed, writes_blocks(format));
  TraceWriter writer(format, feed->prefix_block_tokens());
  std::string text = writer.header();
  for (std::size_t i = 0; i < n; ++i) {
    const auto request = feed->next();
    if (!request) break;
    text += writer.line(*request);
  }
  return text;
}

inline TrafficSample sample_of(std::string_view format, std::string_view text) {
  const models::TraceFormat& reader = models::find_trace_format(format);
  TrafficSample sample(reader.block_tokens);
  for (const models::RequestSpec& r : models::read_trace_text(reader, "t", text)) sample.add(r);
  return sample;
}

}  // namespace kvsim::planner::traffic
