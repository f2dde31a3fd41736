// The expressions of figures and experiments: a value, a text, or an ExpressionError.
#include "tests/fuzz/harness.h"
#include "tools/validation/expression.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvsim;
  const std::string_view text = fuzz::text_of(data, size);
  const auto half = [](const validation::Reference&) { return 0.5; };
  const auto tried = [](const auto& read) {
    try {
      read();
    } catch (const validation::ExpressionError&) {  // refused, as it should be
    }
  };
  tried([&] { static_cast<void>(validation::evaluate(text, half)); });
  tried([&] { static_cast<void>(validation::parse_reference(text)); });
  tried([&] { static_cast<void>(validation::filled(text, {{"a", "1"}, {"b", "{a}"}}, half)); });
  tried([&] { static_cast<void>(validation::split(text, ',')); });
  return 0;
}
