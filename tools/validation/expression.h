// The arithmetic in which figures say what is simulated: numbers, + - * /, comparisons (1 or 0), `and`, parentheses,
// min(a, b, ...), max(a, b, ...), floor(a), sqrt(a), if(condition, a, b), and references such as
// `staggered.throughput.output_tokens_per_s` or `fastest(0.97).latency_s.ttft.mean`, which somebody else looks up.
#pragma once

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace kvsim::validation {

/// An expression, or a text with expressions in it, that cannot be understood. Whoever knows where it was written says
/// so.
class ExpressionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// name(arguments).path(path_arguments): all but the name may be missing. Arguments are text.
struct Reference {
  std::string name;
  std::vector<std::string> arguments;
  std::string path;
  std::vector<std::string> path_arguments;
};

using LookUp = std::function<double(const Reference&)>;
using Parameters = std::map<std::string, std::string>;

/// Throws ExpressionError, and what `look_up` throws.
double evaluate(std::string_view expression, const LookUp& look_up);

/// Throws ExpressionError where the text is anything but one reference.
Reference parse_reference(std::string_view text);

/// `{name}` becomes that parameter, `{= expression | format}` the value of the expression, printed by fmt (the format
/// may be missing; its width and precision are at most 99). Other braces stay. Throws ExpressionError.
std::string filled(std::string_view text, const Parameters& parameters, const LookUp& look_up);

/// The parts between separators that stand in no brackets, without blanks around them; none of an empty text.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace kvsim::validation
