// SPDX-License-Identifier: Apache-2.0
// The text form of a schedule, read from left to right.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string>

#include "nibble/core/error.h"
#include "nibble/run_folder/schedule.h"

namespace nibble::inline run_folder {
namespace {

constexpr std::string_view kNames =
    "constant, step, values, cosine, linear, onecycle, plateau or warmup";

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) { skip_spaces(); }

  bool is_at_end() const { return at_ == text_.size(); }
  std::size_t column() const { return at_; }

  bool take(char c) {
    if (is_at_end() || text_[at_] != c) return false;
    ++at_;
    skip_spaces();
    return true;
  }

  void need(char c, std::string_view expected) {
    if (!take(c)) fail("unexpected text", at_, rest(), expected);
  }

  std::string_view word() {
    const std::size_t begin = at_;
    while (!is_at_end() && is_of_word(text_[at_])) ++at_;
    const std::string_view found = text_.substr(begin, at_ - begin);
    skip_spaces();
    return found;
  }

  // A number from low to high, both included unless `is_open`: then low itself is refused.
  double number(std::string_view what, double low, double high, bool is_open = false) {
    const std::size_t begin = at_;
    double value = 0;
    const char* end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(text_.data() + at_, end, value);
    const auto expected =
        fmt::format("{}, {} {} to {}", what, is_open ? "above" : "from", low, high);
    if (error != std::errc{}) fail("wrong number", begin, rest(), expected);
    at_ = static_cast<std::size_t>(stop - text_.data());
    const std::string_view digits = text_.substr(begin, at_ - begin);
    const bool is_within = (is_open ? value > low : value >= low) && value <= high;
    if (!is_within) fail("wrong number", begin, digits, expected);
    skip_spaces();
    return value;
  }

  std::int64_t integer(std::string_view what, double low, double high) {
    const std::size_t begin = at_;
    const double value = number(what, low, high);
    if (value != std::floor(value)) {
      fail("wrong number", begin, fmt::format("{}", value), fmt::format("{}, an integer", what));
    }
    return static_cast<std::int64_t>(value);
  }

  [[noreturn]] void fail(std::string_view what, std::size_t column, std::string_view got,
                         std::string_view expected) const {
    throw Error("schedule", fmt::format("{} at column {} of '{}'", what, column + 1, text_),
                fmt::format("'{}'", got), expected);
  }

 private:
  static bool is_of_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  }
  std::string_view rest() const { return text_.substr(at_); }
  void skip_spaces() {
    while (!is_at_end() && text_[at_] == ' ') ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

constexpr double kMostEpochs = 1e9;
constexpr double kMostRate = 1e9;

bool read_by_epoch(Reader& in) {
  in.need('=', "by=epoch or by=step");
  const std::size_t column = in.column();
  const std::string_view unit = in.word();
  if (unit != "epoch" && unit != "step") in.fail("wrong unit", column, unit, "epoch or step");
  return unit == "epoch";
}

// Epochs must grow from one to the next; below 0: there is none before.
double next_epoch(Reader& in, double previous) {
  if (previous < 0) return in.number("an epoch", 0, kMostEpochs);
  return in.number("an epoch after the one before", previous, kMostEpochs, true);
}

StepRate read_step(Reader& in) {
  StepRate step;
  in.need('(', "'(' and milestones in epochs, such as step(60,80;0.1)");
  double previous = -1;
  do {
    previous = next_epoch(in, previous);
    step.milestones.push_back(previous);
  } while (in.take(','));
  if (in.take(';')) step.factor = in.number("a factor", 0, kMostRate, true);
  in.need(')', "',' and a milestone, ';' and the factor, or ')'");
  return step;
}

ListedRate read_values(Reader& in) {
  ListedRate listed;
  in.need('(', "'(' and epoch:rate pairs, such as values(0:0.1,60:0.01)");
  do {
    const double previous = listed.values.empty() ? -1 : listed.values.back().first;
    const double epoch = next_epoch(in, previous);
    in.need(':', "':' and the rate");
    listed.values.emplace_back(epoch, in.number("a rate", 0, kMostRate));
  } while (in.take(','));
  in.need(')', "',' and a pair, or ')'");
  return listed;
}

// Calls option(key, its column) for each key=value, position(index) for each bare value.
template <class Position, class Option>
void read_arguments(Reader& in, Position position, Option option) {
  if (!in.take('(')) return;
  int index = 0;
  do {
    const std::size_t column = in.column();
    Reader ahead = in;
    const std::string_view word = ahead.word();
    if (!word.empty() && word.front() >= 'a' && word.front() <= 'z') {
      in = ahead;
      option(word, column);
    } else {
      position(index++, column);
    }
  } while (in.take(','));
  in.need(')', "',' and an argument, or ')'");
}

CosineRate read_cosine(Reader& in) {
  CosineRate cosine;
  read_arguments(
      in,
      [&](int index, std::size_t column) {
        if (index > 0) in.fail("argument too many", column, "", "by=epoch or ')'");
        cosine.floor = in.number("the share of the rate at the end", 0, 1);
      },
      [&](std::string_view key, std::size_t column) {
        if (key != "by") in.fail("unknown option", column, key, "by");
        cosine.is_by_epoch = read_by_epoch(in);
      });
  return cosine;
}

LinearRate read_linear(Reader& in) {
  LinearRate linear;
  read_arguments(
      in,
      [&](int index, std::size_t column) {
        if (index == 0) linear.start = in.number("the share of epochs that is flat", 0, 1);
        if (index == 1) linear.end = in.number("the share of epochs where the line ends", 0, 1);
        if (index == 2) linear.floor = in.number("the share of the rate at the end", 0, 1);
        if (index > 2) in.fail("argument too many", column, "", "over=…, by=epoch or ')'");
        if (index == 1 && linear.end <= linear.start) {
          in.fail("wrong number", column, fmt::format("{}", linear.end),
                  fmt::format("an end after the start {}", linear.start));
        }
      },
      [&](std::string_view key, std::size_t column) {
        if (key == "by") {
          linear.is_by_epoch = read_by_epoch(in);
        } else if (key == "over") {
          in.need('=', "over=epochs");
          linear.over = in.number("epochs", 0, kMostEpochs, true);
        } else {
          in.fail("unknown option", column, key, "by or over");
        }
      });
  if (linear.end <= linear.start) {
    in.fail("wrong line", 0, fmt::format("start {}", linear.start),
            fmt::format("a start before the end {}", linear.end));
  }
  return linear;
}

OneCycleRate read_one_cycle(Reader& in) {
  OneCycleRate cycle;
  read_arguments(
      in,
      [&](int index, std::size_t column) {
        if (index == 0) cycle.peak = in.number("the share of the run before the top", 0, 1);
        if (index == 1) cycle.start = in.number("the share of the rate at the start", 0, 1);
        if (index == 2) cycle.floor = in.number("the share of the rate at the end", 0, 1);
        if (index > 2) in.fail("argument too many", column, "", "')'");
      },
      [&](std::string_view key, std::size_t column) {
        in.fail("unknown option", column, key, "three shares at most");
      });
  return cycle;
}

PlateauRate read_plateau(Reader& in) {
  PlateauRate plateau;
  read_arguments(
      in,
      [&](int index, std::size_t column) {
        if (index == 0) plateau.factor = in.number("a factor", 0, 1, true);
        if (index == 1) plateau.patience = in.integer("patience in epochs", 0, kMostEpochs);
        if (index > 1) in.fail("argument too many", column, "", "min_change=…, watch=… or ')'");
      },
      [&](std::string_view key, std::size_t column) {
        if (key == "min_change") {
          in.need('=', "min_change=number");
          plateau.min_change = in.number("a change", 0, kMostRate);
        } else if (key == "watch") {
          in.need('=', "watch=metric");
          const std::size_t metric_column = in.column();
          const std::string_view name = in.word();
          try {
            plateau.metric = metric_by_name(name);
          } catch (const Error&) {
            in.fail("unknown metric", metric_column, name,
                    "train_loss, train_top1, val_loss or val_top1");
          }
        } else {
          in.fail("unknown option", column, key, "min_change or watch");
        }
      });
  return plateau;
}

WarmUp read_warm_up(Reader& in) {
  WarmUp warm_up;
  const std::size_t open = in.column();
  read_arguments(
      in,
      [&](int index, std::size_t column) {
        if (index > 0) in.fail("argument too many", column, "", "steps, epochs, start=… or ')'");
        warm_up.length = in.number("a length", 0, kMostEpochs, true);
      },
      [&](std::string_view key, std::size_t column) {
        if (key == "steps" || key == "epochs") {
          warm_up.is_in_steps = key == "steps";
        } else if (key == "start") {
          in.need('=', "start=number");
          warm_up.start = in.number("a share of the rate", 0, 1);
        } else {
          in.fail("unknown option", column, key, "steps, epochs or start");
        }
      });
  if (warm_up.length <= 0) in.fail("missing length", open, "", "warmup(epochs) or warmup(n,steps)");
  return warm_up;
}

struct Writer {
  // What the defaults say is left out.
  std::string operator()(const ConstantRate&) const { return "constant"; }
  std::string operator()(const StepRate& s) const {
    return fmt::format("step({};{})", fmt::join(s.milestones, ","), s.factor);
  }
  std::string operator()(const ListedRate& s) const {
    std::string text;
    for (const auto& [epoch, rate] : s.values) {
      text += fmt::format("{}{}:{}", text.empty() ? "" : ",", epoch, rate);
    }
    return "values(" + text + ")";
  }
  std::string operator()(const CosineRate& s) const {
    std::string text;
    if (s.floor != 0) text += fmt::format(",{}", s.floor);
    if (s.is_by_epoch) text += ",by=epoch";
    return with_arguments("cosine", text);
  }
  std::string operator()(const LinearRate& s) const {
    const LinearRate plain;
    std::string text;
    if (s.start != plain.start || s.end != plain.end || s.floor != plain.floor) {
      text += fmt::format(",{},{},{}", s.start, s.end, s.floor);
    }
    if (s.over != 0) text += fmt::format(",over={}", s.over);
    if (s.is_by_epoch) text += ",by=epoch";
    return with_arguments("linear", text);
  }
  std::string operator()(const OneCycleRate& s) const {
    if (s == OneCycleRate{}) return "onecycle";
    return fmt::format("onecycle({},{},{})", s.peak, s.start, s.floor);
  }
  std::string operator()(const PlateauRate& s) const {
    std::string text = fmt::format(",{},{}", s.factor, s.patience);
    if (s.min_change != 0) text += fmt::format(",min_change={}", s.min_change);
    if (s.metric != Metric::val_loss) text += fmt::format(",watch={}", name_of(s.metric));
    return with_arguments("plateau", text);
  }

  static std::string with_arguments(std::string_view name, std::string_view text) {
    if (text.empty()) return std::string(name);
    return fmt::format("{}({})", name, text.substr(1));
  }
};

}  // namespace

Schedule parse_schedule(std::string_view text) {
  Reader in(text);
  Schedule schedule;
  std::size_t column = in.column();
  std::string_view name = in.word();
  if (name == "warmup") {
    schedule.warm_up = read_warm_up(in);
    in.need('+', "'+' and a schedule, such as warmup(5)+cosine");
    column = in.column();
    name = in.word();
  }
  if (name == "constant") {
    schedule.rate = ConstantRate{};
  } else if (name == "step") {
    schedule.rate = read_step(in);
  } else if (name == "values") {
    schedule.rate = read_values(in);
  } else if (name == "cosine") {
    schedule.rate = read_cosine(in);
  } else if (name == "linear") {
    schedule.rate = read_linear(in);
  } else if (name == "onecycle") {
    schedule.rate = read_one_cycle(in);
  } else if (name == "plateau") {
    schedule.rate = read_plateau(in);
  } else {
    in.fail("unknown schedule", column, name, kNames);
  }
  if (!in.is_at_end()) in.fail("unexpected text", in.column(), text.substr(in.column()), "the end");
  return schedule;
}

std::string to_string(const Schedule& schedule) {
  const WarmUp& w = schedule.warm_up;
  std::string text;
  if (w.length > 0) {
    text = fmt::format("warmup({}{}", w.length, w.is_in_steps ? ",steps" : "");
    if (w.start != 0) text += fmt::format(",start={}", w.start);
    text += ")+";
  }
  return text + std::visit(Writer{}, schedule.rate);
}

}  // namespace nibble::inline run_folder
