// The data that travels in the binary: everything loads, every figure has a source, every name resolves.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>

#include "models/catalogue/catalogue.h"
#include "models/catalogue/catalogue_text.h"
#include "models/compression/compressor_spec.h"
#include "models/drafting/drafter_spec.h"
#include "models/engines/engine_spec.h"
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

/// Same content, and every value at the same place of the same file.
void expect_same(const ConfigNode& a, const ConfigNode& b, const std::string& path) {
  EXPECT_EQ(a.origin().str(), b.origin().str()) << path;
  EXPECT_EQ(a.quoted(), b.quoted()) << path;
  ASSERT_EQ(a.entries().size(), b.entries().size()) << path;
  ASSERT_EQ(a.items().size(), b.items().size()) << path;
  for (std::size_t i = 0; i < a.items().size(); ++i) expect_same(a.items()[i], b.items()[i], path);
  for (std::size_t i = 0; i < a.entries().size(); ++i) {
    EXPECT_EQ(a.entries()[i].key_origin.str(), b.entries()[i].key_origin.str()) << path;
    expect_same(a.entries()[i].value, b.entries()[i].value, path + "." + a.entries()[i].key);
  }
}

// Entries are cut out of the files by their lines, and parsed alone. The files read as YAML say the same.
TEST(ShippedFiles, EntriesCutOutAreThoseOfTheWholeFiles) {
  namespace fs = std::filesystem;
  const fs::path top = KVSIM_SOURCE_DIR;
  std::vector<ConfigNode> documents;
  for (const auto& file : fs::recursive_directory_iterator(top / "models")) {
    const fs::path& path = file.path();
    if (path.extension() != ".yaml" || path.parent_path().filename() != "catalogue") continue;
    const std::string name = fs::relative(path, top).string();
    std::ifstream stream(path);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    documents.push_back(schema::read_yaml(text, name));
  }
  Catalogue read;
  read.add(documents);
  const Catalogue cut = Catalogue::built_in();
  for (const EntryKind kind : all_entry_kinds) {
    const auto lines = read.list(kind);
    const auto cut_lines = cut.list(kind);
    ASSERT_EQ(cut_lines.size(), lines.size()) << plural(kind);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      EXPECT_EQ(cut_lines[i].name, lines[i].name);
      EXPECT_EQ(cut_lines[i].origin.str(), lines[i].origin.str());
      const ConfigNode& entry = cut.find(kind, lines[i].name);
      EXPECT_EQ(entry, read.find(kind, lines[i].name)) << lines[i].name;
      expect_same(entry, read.find(kind, lines[i].name), lines[i].name);
    }
  }
}

TEST(EntryTexts, AnEntryKeepsItsPlaceInTheFile) {
  // Lines: 1 comment, 2 section, 3 entry, 4 its key, 5 blank, 6 comment, 7 entry, 8 section, 9 entry without a line
  // end.
  constexpr std::string_view file =
      "# cards\ngpus:\n  a:\n    memory: 1 GB\n\n  # the next\n  b: {memory: 2 GB}\nlinks:\n  c: {read: [3,\n   4]}";
  const auto entries = entry_texts(file, "cards.yaml");
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].section, "gpus");
  EXPECT_EQ(entries[0].name, "a");
  EXPECT_EQ(entries[1].origin.str(), "cards.yaml:7:3");
  EXPECT_EQ(entries[2].section, "links");
  EXPECT_EQ(read_entry(entries[0]).find("memory")->origin().str(), "cards.yaml:4:13");
  EXPECT_EQ(read_entry(entries[1]).find("memory")->text(), "2 GB");
  EXPECT_EQ(read_entry(entries[2]).find_path("read.1")->origin().str(), "cards.yaml:10:4");
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
    // GB10 machines have no other GPU inside, and are joined over their network.
    const LinkKind joined = line.name == "gb10" ? LinkKind::network : LinkKind::peer;
    EXPECT_EQ(catalogue().link(gpu.peer_link).kind, joined) << line.name;
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
  for (const auto& line : catalogue().list(EntryKind::engine)) {
    expect_round_trip(engine_schema(), catalogue().engine(line.name));
  }
}

TEST_F(ShippedCatalogue, AKnownFigureComesThroughExactly) {
  const GpuSpec a100 = catalogue().gpu("a100");  // datasheet: 2039 GB/s, 312 TFLOP/s dense
  EXPECT_EQ(a100.memory_bytes_per_s.value, 2.039e12);
  EXPECT_EQ(a100.bf16_flops_per_s.value, 312e12);
  EXPECT_EQ(a100.memory_bytes.value, std::int64_t{317} << 28);  // 79.25 GiB
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
