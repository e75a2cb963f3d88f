// The predictor's scale of a layer: 2^-scale, near the RMS of its true gradient. While an update
// reads rows of the gradient g, this unit adds up a lower bound of (g * 2^scale)^2, the square of
// its power of two: 2^(2 d), d = floor(log2 |g|) + scale, where d is -8 to 7 (above 7 it counts as
// 7, below -8 not at all). Against `count` elements, the mean then says whether the scale stays or
// moves by one: a mean of 1 or more makes it smaller by one, a mean below 1/4 larger by one.
module scale_unit #(parameter int ROWS = 4, parameter int FORMAT = 0) (
  input  logic               clk,
  input  logic               clear,
  input  logic               beat,    // a row of gradients is there
  input  logic [ROWS*32-1:0] row,
  input  logic [4:0]         scale,
  input  logic [31:0]        count,
  output logic [4:0]         next);
  localparam int BITS = 64;  // 2^32 elements of at most 2^30
  logic [BITS-1:0] sum, added;
  logic [ROWS*31-1:0] squares;
  genvar k;
  generate
    for (k = 0; k < ROWS; k = k + 1) begin : g_lane
      logic signed [9:0] log, d;
      logic is_zero;
      if (FORMAT == 0) begin : g_fixed
        logic [31:0] magnitude;
        always_comb begin
          magnitude = row[k*32+31] ? -row[k*32 +: 32] : row[k*32 +: 32];
          is_zero = magnitude == 32'd0;
          log = -10'sd16;
          for (int i = 0; i < 32; i = i + 1) if (magnitude[i]) log = 10'(i) - 10'sd16;
        end
      end else begin : g_float
        assign is_zero = row[k*32+23 +: 8] == 8'd0;
        assign log = $signed({2'b0, row[k*32+23 +: 8]}) - 10'sd127;
      end
      always_comb begin
        d = log + $signed({5'd0, scale});
        if (is_zero || d < -10'sd8) squares[k*31 +: 31] = 31'd0;
        else if (d > 10'sd7) squares[k*31 +: 31] = 31'd1 << 30;
        else squares[k*31 +: 31] = 31'd1 << {4'(d + 10'sd8), 1'b0};
      end
    end
  endgenerate
  always_comb begin
    added = sum;
    for (int i = 0; i < ROWS; i = i + 1) added = added + {{BITS-31{1'b0}}, squares[i*31 +: 31]};
    next = sum >= {16'd0, count, 16'd0} ? (scale == 5'd0 ? 5'd0 : scale - 5'd1) :
           sum < {18'd0, count, 14'd0} ? (scale == 5'd31 ? 5'd31 : scale + 5'd1) : scale;
  end
  always_ff @(posedge clk) begin
    if (clear) sum <= {BITS{1'b0}};
    else if (beat) sum <= added;
  end
endmodule
