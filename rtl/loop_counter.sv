// Nested loops as one address: level 0 is the innermost, level l runs n[l] times with stride s[l].
// `last` is high at the final address; `last_inner` when the INNER lowest levels are at their ends,
// `last_outer` when the OUTER lowest are.
module loop_counter #(parameter int LEVELS = 3, parameter int INNER = 1,
                      parameter int OUTER = 1) (
  input  logic                 clk,
  input  logic                 load,
  input  logic                 step,
  input  logic [15:0]          base,
  input  logic [LEVELS*16-1:0] n,
  input  logic [LEVELS*16-1:0] s,
  output logic [15:0]          addr,
  output logic                 first_inner,
  output logic                 last_inner,
  output logic                 last_outer,
  output logic                 last);
  logic [LEVELS*16-1:0] start, count, next_start, next_count;
  logic [LEVELS-1:0] at_end, at_begin;
  logic [15:0] moved;
  logic carry;
  assign addr = start[15:0];
  assign last = &at_end;
  assign last_inner = &at_end[INNER-1:0];
  assign last_outer = &at_end[OUTER-1:0];
  assign first_inner = &at_begin[INNER-1:0];
  always_comb begin
    for (int l = 0; l < LEVELS; l = l + 1) begin
      at_end[l] = count[l*16 +: 16] + 16'd1 == n[l*16 +: 16];
      at_begin[l] = count[l*16 +: 16] == 16'd0;
    end
    // The lowest level that is not at its end moves; the levels below it start again from there.
    next_start = start;
    next_count = count;
    moved = start[15:0];
    carry = 1'b1;
    for (int l = 0; l < LEVELS; l = l + 1) begin
      if (carry) begin
        if (at_end[l]) next_count[l*16 +: 16] = 16'd0;
        else begin
          next_count[l*16 +: 16] = count[l*16 +: 16] + 16'd1;
          moved = start[l*16 +: 16] + s[l*16 +: 16];
          for (int k = 0; k < LEVELS; k = k + 1) if (k <= l) next_start[k*16 +: 16] = moved;
          carry = 1'b0;
        end
      end
    end
  end
  always_ff @(posedge clk) begin
    if (load) begin
      start <= {LEVELS{base}};
      count <= {LEVELS*16{1'b0}};
    end else if (step) begin
      start <= next_start;
      count <= next_count;
    end
  end
endmodule
