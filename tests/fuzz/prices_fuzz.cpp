// A table of prices: it changes the table of the program, or is refused with an InputError.
#include "models/prices/price_table.h"
#include "models/schema/yaml.h"
#include "tests/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvsim;
  static const std::vector<std::string> gpus{"h100-sxm", "mine"};
  static const models::PriceTable built_in = models::PriceTable::built_in();
  const std::string_view text = fuzz::text_of(data, size);
  models::PriceTable table = built_in;
  fuzz::read_or_refused([&] { table.change(schema::read_yaml(text, "prices.yaml"), gpus); });
  return 0;
}
