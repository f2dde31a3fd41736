// Shared by the tests of the schema layer.
#pragma once

#include <string>
#include <string_view>

#include "models/schema/config_node.h"
#include "models/schema/error.h"
#include "models/schema/yaml.h"

namespace kvsim::schema {

inline ConfigNode yaml(std::string_view text) {
  return read_yaml(text, "test.yaml");
}

/// The message of the InputError that `action` throws; says so where it throws none.
template <class Action>
std::string error_of(const Action& action) {
  try {
    static_cast<void>(action());
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

inline std::string read_error(std::string_view text) {
  return error_of([&] { return yaml(text); });
}

}  // namespace kvsim::schema
