// Window sums over rows, one row per cycle: for each of c1 x c0 cells the sum over n2 x n1 x n0
// rows (with `relu` of what is positive in them), divided by 2^shift_a. From Y into W: the batch
// mean and average pooling of a layer's output, where every lane (an output channel) is one sample
// of the predictor; ReLU and pooling behind the predictor's convolution, also from PY into PW. From
// G into O: gradients of biases. Cycles: cells * window * chunks + 1 (several chunks when a row is
// wider than the predictor array).
module reorg_unit #(
  parameter int ROWS = 4, parameter int PROWS = 2, parameter int FORMAT = 0,
  parameter int HAS_PRED = 0,  // 0: gradients of biases alone
  parameter int HAS_ARRAY = 0) (
  input  logic                clk,
  input  logic                rst,
  input  logic                issue,
  input  logic [255:0]        d,
  output logic                idle,
  output logic                beat,
  output logic                from_g,
  output logic                from_pred,
  output logic [15:0]         addr,
  input  logic [ROWS*32-1:0]  y_rd,
  input  logic [PROWS*32-1:0] py_rd,
  input  logic [ROWS*16-1:0]  g_rd,
  output logic                write,
  output logic                to_pred,
  output logic [15:0]         wa,
  output logic [15:0]         wb,
  output logic [ROWS*16-1:0]  w_data,
  output logic [ROWS*32-1:0]  o_data,
  output logic [PROWS*16-1:0] pw_data,
  output logic [PROWS-1:0]    pw_valid,
  output logic [PROWS-1:0]    pw_wrap);
  localparam logic [1:0] IDLE = 0, RUN = 1, LAST = 2;
  localparam int CHUNKS = (ROWS + PROWS - 1) / PROWS;
  localparam int LANES = (HAS_ARRAY != 0 && PROWS > ROWS) ? PROWS : ROWS;
  logic [1:0] state;
  logic g_wanted, relu, regrouped;
  logic [15:0] dst, gs, chunk, chunk_now;
  logic [95:0] counts, strides;
  logic [4:0] shift;
  logic [7:0] rot;
  logic first, last_inner, first_now, last_now, last, chunk_end;
  logic [LANES*32-1:0] acc, sum, wide;
  logic [LANES*16-1:0] narrow;
  logic [15:0] cell_;

  loop_counter #(.LEVELS(6), .INNER(3), .OUTER(5)) loops (
    .clk(clk), .load(issue && idle), .step(beat), .base(d[adagp_pkg::F_YB +: 16]), .n(counts),
    .s(strides), .addr(addr), .first_inner(first), .last_inner(last_inner),
    .last_outer(chunk_end), .last(last));

  assign from_g = HAS_PRED == 0 || g_wanted;
  assign to_pred = from_pred || regrouped;
  assign idle = state == IDLE;
  assign beat = state == RUN;
  always_ff @(posedge clk) begin
    first_now <= first;
    last_now <= beat && last_inner && !rst;
    chunk_now <= chunk;
    wa <= dst + cell_;
    wb <= dst + cell_ + gs;
    acc <= sum;
    if (rst) state <= IDLE;
    else case (state)
      IDLE: if (issue) begin
        g_wanted <= d[adagp_pkg::F_KIND +: 4] == 4'(adagp_pkg::REORG_G_TO_O);
        from_pred <=
          HAS_ARRAY != 0 && d[adagp_pkg::F_KIND +: 4] == 4'(adagp_pkg::REORG_PY_TO_PW);
        regrouped <= HAS_ARRAY != 0 && d[adagp_pkg::F_PSRC];
        relu <= HAS_PRED != 0 && d[adagp_pkg::F_RELU];
        counts <= {(HAS_ARRAY != 0 && d[adagp_pkg::F_PSRC]) ? 16'(CHUNKS) : 16'd1,
                   d[adagp_pkg::F_ADDR +: 32],
                   d[adagp_pkg::F_N2 +: 16], d[adagp_pkg::F_N1 +: 16], d[adagp_pkg::F_N0 +: 16]};
        strides <= {16'd0, d[adagp_pkg::F_S3 +: 16], d[adagp_pkg::F_XB +: 16],
                    d[adagp_pkg::F_S2 +: 16], d[adagp_pkg::F_S1 +: 16], d[adagp_pkg::F_S0 +: 16]};
        shift <= d[adagp_pkg::F_SHIFT_A +: 5];
        rot <= d[adagp_pkg::F_ROT +: 8];
        gs <= d[adagp_pkg::F_GS +: 16];
        dst <= d[adagp_pkg::F_WB +: 16];
        cell_ <= 16'd0;
        chunk <= 16'd0;
        state <= RUN;
      end
      RUN: begin
        if (last_inner) begin
          cell_ <= chunk_end ? 16'd0 : cell_ + 16'd1;
          if (chunk_end) begin
            chunk <= chunk + 16'd1;
            dst <= dst + gs;
          end
        end
        if (last) state <= LAST;
      end
      default: state <= IDLE;
    endcase
  end
  assign write = last_now;

  genvar k;
  generate
    for (k = 0; k < LANES; k = k + 1) begin : g_lane
      logic [31:0] y, g, py, read, x, added;
      if (k < ROWS) begin : g_main
        assign y = y_rd[k*32 +: 32];
        assign g = FORMAT == 0 ? {{16{g_rd[k*16+15]}}, g_rd[k*16 +: 16]}
                               : {g_rd[k*16 +: 16], 16'd0};
      end else begin : g_beyond
        assign {y, g} = 64'd0;
      end
      if (HAS_ARRAY != 0 && k < PROWS) begin : g_own
        assign py = py_rd[k*32 +: 32];
      end else begin : g_none
        assign py = 32'd0;
      end
      assign read = from_g ? g : from_pred ? py : y;
      assign x = (relu && read[31]) ? 32'd0 : read;
      add32 #(.FORMAT(FORMAT)) add (.a(acc[k*32 +: 32]), .b(x), .y(added));
      assign sum[k*32 +: 32] = first_now ? x : added;
      round #(.FORMAT(FORMAT)) scale (
        .x(sum[k*32 +: 32]), .shift(shift), .wide(wide[k*32 +: 32]),
        .narrow(narrow[k*16 +: 16]));
    end
    assign o_data = wide[ROWS*32-1:0];
    assign w_data = narrow[ROWS*16-1:0];
    if (HAS_ARRAY != 0) begin : g_pred
      logic [PROWS*16-1:0] moved;
      logic [PROWS-1:0] present, next_group;
      regroup #(.SRC(ROWS), .DST(PROWS), .BITS(16)) to_pw (
        .row(w_data), .chunk(chunk_now), .rot(rot), .data(moved), .valid(present),
        .wrap(next_group));
      assign pw_data = from_pred ? narrow[PROWS*16-1:0] : moved;
      assign pw_valid = from_pred ? {PROWS{1'b1}} : present;
      assign pw_wrap = from_pred ? {PROWS{1'b0}} : next_group;
    end else begin : g_no_pred
      assign pw_data = {PROWS*16{1'b0}};
      assign {pw_valid, pw_wrap} = {2*PROWS{1'b0}};
    end
  endgenerate
endmodule
