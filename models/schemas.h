// The field tables of models: how each kind of thing is written in YAML. Each is defined beside the type it is about.
#pragma once

#include <vector>

#include "models/schema/object_schema.h"

namespace kvsim::models {

struct AcceptanceSpec;
struct AttentionProfile;
struct CompressorSpec;
struct DatasetSpec;
struct DraftCosts;
struct DrafterSpec;
struct EngineMemory;
struct EngineSpec;
struct GpuSpec;
struct KernelProfile;
struct LinkSpec;
struct LlmSpec;
struct PlacementSpec;
struct PrefetchSpec;
struct QuantisedKernel;
struct RagTask;

const schema::ObjectSchema<AcceptanceSpec>& acceptance_schema();
const schema::ObjectSchema<AttentionProfile>& attention_profile_schema();
const schema::ObjectSchema<CompressorSpec>& compressor_schema();
const schema::ObjectSchema<DatasetSpec>& dataset_schema();
const schema::ObjectSchema<DraftCosts>& draft_costs_schema();
const schema::ObjectSchema<DrafterSpec>& drafter_schema();
const schema::ObjectSchema<EngineMemory>& engine_memory_schema();
const schema::ObjectSchema<EngineSpec>& engine_schema();
const schema::ObjectSchema<GpuSpec>& gpu_schema();
const schema::ObjectSchema<LinkSpec>& link_schema();
const schema::ObjectSchema<LlmSpec>& llm_schema();
/// `policies` are the words of `policy`: who decides what an overflowing tier does is not known here. Without
/// `options.methods` the list is empty: see complete_methods.
schema::ObjectSchema<PlacementSpec> placement_schema(std::vector<schema::Word> policies);
/// Without `attention` the profile is empty.
const schema::ObjectSchema<PrefetchSpec>& prefetch_schema();
/// Efficiencies in (0, 1.05], no negative times, tables that ascend: a profile that breaks this is refused at the
/// offending figure.
const schema::ObjectSchema<KernelProfile>& profile_schema();
const schema::ObjectSchema<QuantisedKernel>& quantised_kernel_schema();
const schema::ObjectSchema<RagTask>& rag_task_schema();

/// The six paths: each one's name and description; its value is the Path.
std::vector<schema::Word> path_words();

}  // namespace kvsim::models
