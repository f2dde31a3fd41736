// Errors of a configuration that cannot be simulated, in the user's terms.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace kvsim::serving {

/// The configuration cannot be simulated; what() says why in the user's terms.
class ConfigurationError : public std::runtime_error {
 public:
  /// `key`: the scenario key to blame, dotted.
  ConfigurationError(std::string key, const std::string& message) : std::runtime_error(message), key_(std::move(key)) {}
  [[nodiscard]] const std::string& key() const { return key_; }

 private:
  std::string key_;
};

/// The GPUs, their number or their links do not suit the rest of the configuration, which another machine may run.
class UnsuitableMachine : public ConfigurationError {
 public:
  using ConfigurationError::ConfigurationError;
};

/// The weights leave no room for KV.
class ModelDoesNotFit : public UnsuitableMachine {
 public:
  using UnsuitableMachine::UnsuitableMachine;
};

/// More requests are in the system than RunConfig::most_in_flight.
class TooManyInFlight : public ConfigurationError {
 public:
  using ConfigurationError::ConfigurationError;
};

}  // namespace kvsim::serving
