// Whatever the bytes: reading YAML gives a tree or an InputError, and a tree that is written reads back as itself.
#include <cstdio>

#include "models/schema/overrides.h"
#include "models/schema/yaml.h"
#include "tests/fuzz/harness.h"

// The library makes no promise about sources other than the reader's, so the tree is compared without origins.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvsim;
  const std::string_view text = fuzz::text_of(data, size);
  schema::ConfigNode tree;
  if (!fuzz::read_or_refused([&] { tree = schema::read_yaml(text, "fuzz.yaml"); })) return 0;
  try {
    if (!(schema::read_yaml(schema::to_yaml(tree), "written.yaml") == tree)) std::abort();
  } catch (const schema::InputError& error) {
    std::fputs(error.what(), stderr);
    std::abort();
  }
  fuzz::read_or_refused([&] { schema::apply_set(tree, text); });
  return 0;
}
