// Whatever the bytes: reading YAML gives a tree or an InputError, and a tree that is written reads back as itself.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "models/schema/error.h"
#include "models/schema/overrides.h"
#include "models/schema/yaml.h"

// The library makes no promise about sources other than the reader's, so the tree is compared without origins.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvsim::schema;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ConfigNode tree;
  try {
    tree = read_yaml(text, "fuzz.yaml");
  } catch (const InputError&) {
    return 0;
  }
  try {
    if (!(read_yaml(to_yaml(tree), "written.yaml") == tree)) std::abort();
  } catch (const InputError& error) {
    std::fputs(error.what(), stderr);
    std::abort();
  }
  try {
    apply_set(tree, text);
  } catch (const InputError&) {
  }
  return 0;
}
