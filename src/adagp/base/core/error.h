#pragma once
// Typed errors. The program turns each into its exit code; the library never calls exit().

#include <stdexcept>
#include <string>

namespace adagp {

// Anything that went wrong: exit code 1. A message says what, where, got, expected, how to fix.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  virtual int exit_code() const { return 1; }
};

// The command line, a recipe or an option is wrong.
class UsageError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 2; }
};

// Data, weights or a checkpoint are missing, cut off or corrupt.
class DataError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 3; }
};

// Training produced NaN, infinity or a loss over the limit.
class DivergedError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 4; }
};

// SIGINT or SIGTERM arrived and the state was saved: exit code 128 + signal.
class Interrupted : public Error {
 public:
  Interrupted(const std::string& message, int signal) : Error(message), signal_(signal) {}
  int exit_code() const override { return 128 + signal_; }

 private:
  int signal_;
};

}  // namespace adagp
