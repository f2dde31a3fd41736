// Traces of one JSON object a line: an arrival time, two lengths and, in some formats, the prompt's block hashes.
// Internal to the readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/workload/line_reader.h"

namespace kvsim::models {

/// A value's JSON as it stands in a message: short ones in full, objects and lists by their kind.
std::string shown_json(std::string_view token);

/// What a format calls the members of a request; all of them must be there.
struct JsonlNames {
  std::string_view timestamp = "timestamp";
  std::string_view input = "input_length";
  std::string_view output = "output_length";
  std::string_view hash_ids = "hash_ids";                                          ///< empty: the format has none
  std::string_view shape = "timestamp, input_length, output_length and hash_ids";  ///< for messages
  std::string_view time = "the time since the start";                              ///< for messages
};

struct JsonlRequest {
  double timestamp = 0;  ///< in the format's unit
  std::int64_t input_length = 0;
  std::int64_t output_length = 0;
  std::vector<std::uint64_t> hash_ids;
  std::size_t timestamp_byte = 0;  ///< where each value starts in the line
  std::size_t input_byte = 0;
  std::size_t output_byte = 0;
  std::size_t hash_ids_byte = 0;
};

/// Parses lines into requests; other keys of an object are skipped.
class JsonlParser {
 public:
  explicit JsonlParser(LineReader& lines, const JsonlNames& names = {});
  ~JsonlParser();
  JsonlParser(const JsonlParser&) = delete;
  JsonlParser& operator=(const JsonlParser&) = delete;

  /// The next line's request, valid until the next call; null at the end. Throws schema::InputError where the line is
  /// no object of that shape.
  JsonlRequest* next();

 private:
  struct Parser;
  LineReader& lines_;
  JsonlNames names_;
  std::unique_ptr<Parser> parser_;
  JsonlRequest request_;
};

}  // namespace kvsim::models
