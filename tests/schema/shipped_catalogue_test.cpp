// The data that travels in the binary: everything loads, every figure has a source, every name resolves.
#include <gtest/gtest.h>

#include "models/catalogue/catalogue.h"
#include "models/compression/compressor_spec.h"
#include "models/drafting/drafter_spec.h"
#include "models/hardware/gpu.h"
#include "models/hardware/link_spec.h"
#include "models/kernels/profile.h"
#include "models/llm/llm_spec.h"
#include "models/prefetch/prefetch_spec.h"
#include "models/reuse/rag_task.h"
#include "models/schema/yaml.h"
#include "models/schemas.h"
#include "models/workload/dataset.h"
#include "tests/schema/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using schema::ConfigNode;
using schema::error_of;
using schema::Form;
using schema::ObjectInfo;

class ShippedCatalogue : public testing::TestWithParam<EntryKind> {
 protected:
  static const Catalogue& catalogue() {
    static const Catalogue shipped = Catalogue::built_in();
    return shipped;
  }
};

TEST_P(ShippedCatalogue, IsNotEmptyAndEveryEntryHasALine) {
  const auto lines = catalogue().list(GetParam());
  EXPECT_FALSE(lines.empty());
  for (const auto& line : lines) {
    EXPECT_FALSE(line.description.empty()) << line.name;
    EXPECT_LE(line.description.size(), 200U) << line.name << ": one line for lists";
  }
}

TEST_P(ShippedCatalogue, EveryEntryLoads) {
  for (const auto& line : catalogue().list(GetParam())) {
    const std::string path = std::string(plural(GetParam())) + "." + line.name;
    EXPECT_EQ(error_of([&] {
                return check_entry(GetParam(), catalogue().find(GetParam(), line.name), path, &catalogue()), 0;
              }),
              "no error");
  }
}

/// Complains about every figure below `node` that says neither where it comes from nor in which document.
void expect_sources(const ObjectInfo& info, const ConfigNode& node, const std::string& path) {
  const auto expect_source = [](const ConfigNode& figure, const std::string& where) {
    const ConfigNode* source = figure.find("source");
    const ConfigNode* reference = figure.find("reference");
    ASSERT_NE(source, nullptr) << where << " has no source";
    EXPECT_NE(source->text(), "scenario") << where;
    ASSERT_NE(reference, nullptr) << where << " has no reference";
    EXPECT_FALSE(reference->text().empty()) << where;
  };
  for (const auto& field : info.fields) {
    const ConfigNode* value = node.find(field.name);
    if (value == nullptr) continue;
    const std::string where = path + "." + field.name;
    const std::vector<ConfigNode> items = field.list ? value->items() : std::vector{*value};
    for (const ConfigNode& item : items) {
      if (field.form == Form::sourced) expect_source(item, where);
      if (field.form == Form::object && field.object->find("source") != nullptr) expect_source(item, where);
      if (field.form == Form::object) expect_sources(*field.object, item, where);
    }
  }
}

TEST_P(ShippedCatalogue, EveryFigureHasASourceAndAReference) {
  for (const auto& line : catalogue().list(GetParam())) {
    expect_sources(entry_info(GetParam()), catalogue().find(GetParam(), line.name), line.name);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ShippedCatalogue, testing::ValuesIn(all_entry_kinds),
                         [](const auto& kind) { return std::string(plural(kind.param)); });

TEST_F(ShippedCatalogue, EveryGpuNamesLinksAndAProfileThatExist) {
  for (const auto& line : catalogue().list(EntryKind::gpu)) {
    const GpuSpec gpu = catalogue().gpu(line.name);
    EXPECT_TRUE(catalogue().contains(EntryKind::link, gpu.host_link)) << line.name << ": " << gpu.host_link;
    EXPECT_TRUE(catalogue().contains(EntryKind::link, gpu.peer_link)) << line.name << ": " << gpu.peer_link;
    EXPECT_TRUE(catalogue().contains(EntryKind::profile, gpu.profile)) << line.name << ": " << gpu.profile;
    EXPECT_EQ(catalogue().link(gpu.host_link).kind, LinkKind::host) << line.name;
    EXPECT_EQ(catalogue().link(gpu.peer_link).kind, LinkKind::peer) << line.name;
  }
}

TEST_F(ShippedCatalogue, EveryProfileWasMeasuredOnAGpuThatExistsOrOnNone) {
  for (const auto& line : catalogue().list(EntryKind::profile)) {
    const std::string gpu = catalogue().profile(line.name).measured_on;
    EXPECT_TRUE(gpu == "none" || catalogue().contains(EntryKind::gpu, gpu)) << line.name << ": " << gpu;
  }
}

/// parse(dump(x)) is x, told by dumping again.
template <class Spec>
void expect_round_trip(const schema::ObjectSchema<Spec>& schema, const Spec& spec) {
  const std::string text = schema::to_yaml(schema.dump(spec));
  EXPECT_EQ(schema::to_yaml(schema.dump(schema.parse(schema::yaml(text)))), text);
}

TEST_F(ShippedCatalogue, EveryEntryReadsBackAsDumped) {
  for (const auto& line : catalogue().list(EntryKind::gpu)) expect_round_trip(gpu_schema(), catalogue().gpu(line.name));
  for (const auto& line : catalogue().list(EntryKind::link)) {
    expect_round_trip(link_schema(), catalogue().link(line.name));
  }
  for (const auto& line : catalogue().list(EntryKind::model)) {
    expect_round_trip(llm_schema(), catalogue().model(line.name));
  }
  for (const auto& line : catalogue().list(EntryKind::compressor)) {
    expect_round_trip(compressor_schema(), catalogue().compressor(line.name));
  }
  for (const auto& line : catalogue().list(EntryKind::drafter)) {
    expect_round_trip(drafter_schema(), catalogue().drafter(line.name));
  }
  for (const auto& line : catalogue().list(EntryKind::profile)) {
    expect_round_trip(profile_schema(), catalogue().profile(line.name));
  }
  for (const auto& line : catalogue().list(EntryKind::attention_profile)) {
    expect_round_trip(attention_profile_schema(), catalogue().attention_profile(line.name));
  }
  for (const auto& line : catalogue().list(EntryKind::dataset)) {
    expect_round_trip(dataset_schema(), catalogue().dataset(line.name));
  }
  for (const auto& line : catalogue().list(EntryKind::rag_task)) {
    expect_round_trip(rag_task_schema(), catalogue().rag_task(line.name));
  }
}

TEST_F(ShippedCatalogue, AKnownFigureComesThroughExactly) {
  const GpuSpec a100 = catalogue().gpu("a100");  // datasheet: 2039 GB/s, 312 TFLOP/s dense
  EXPECT_EQ(a100.memory_bytes_per_s.value, 2.039e12);
  EXPECT_EQ(a100.bf16_flops_per_s.value, 312e12);
  EXPECT_EQ(a100.memory_bytes.value, std::int64_t{80} << 30);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
